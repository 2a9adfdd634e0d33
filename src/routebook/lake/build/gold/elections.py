"""gold.elections: elections of masters by the Controller."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import ELECTIONS

_KINDS = ("master_elected", "no_master_elected")


def build(inputs: Inputs) -> DataFrame:
    """One row per event."""
    elected = fn.col("kind") == "master_elected"
    lasted_ms = fn.unix_millis("at") - fn.unix_millis("lost_at")
    alive = fn.filter("candidates", lambda one: one["alive"])
    return inputs.events(*_KINDS).select(
        "at",
        "ns",
        "cluster",
        "broker",
        fn.when(elected, "elected").otherwise("no_master").alias("outcome"),
        "cause",
        fn.coalesce("unclean", fn.lit(False)).alias("unclean"),
        fn.when(elected, fn.col("broker_id")).alias("master_id"),
        "addr",
        "before_id",
        "before_addr",
        "master_epoch",
        "lost_at",
        fn.when(elected & (lasted_ms >= 0), lasted_ms / 1000).alias("failover_s"),
        "in_sync",
        "before_in_sync",
        fn.size("candidates").alias("candidates"),
        fn.size(alive).alias("candidates_alive"),
        "who",
        "peer",
        fn.to_date("at").alias("day"),  # by `at`, not `t`: events are read by it
        "seq",
    )


STEP = Step(ELECTIONS, reads=(), build=build, kinds=_KINDS)
