"""silver.observed: one row per start of a NameServer, with the interval in which it observed brokers."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

from routebook.lake.build.event_time import is_rollup
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.silver import OBSERVED

RECORD_EVERY: Final = "interval 60 seconds"
_PARTS = ("from_seq", "from_at", "seen_until", "recovered", "cold", "before_at")


def build(inputs: Inputs) -> DataFrame:
    """One row per start."""
    starts = _from_events(inputs).unionByName(_from_edge(inputs))
    merged = starts.groupBy("ns", "boot").agg(
        fn.min("from_seq").alias("from_seq"),
        fn.min_by("from_at", "from_seq").alias("first_at"),
        fn.max("seen_until").alias("heard_until"),
        fn.max("recovered").alias("recovered"),
        fn.max("cold").alias("cold"),
        fn.max("before_at").alias("known_before_at"),
        fn.max("last_seq").alias("last_seq"),
        fn.max("last_t").alias("last_t"),
        fn.max("stop_seq").alias("stop_seq"),
        fn.max("stop_at").alias("stop_at"),
    )
    order = Window.partitionBy("ns").orderBy("from_seq")
    in_order = merged.withColumn(
        # the first event can be a rollup of the minute before
        "from_at",
        fn.greatest("first_at", fn.lag("last_t").over(order)),
    )
    in_order = in_order.withColumn("to_seq", fn.lead("from_seq").over(order)).withColumn(
        "seen_until",
        fn.coalesce(
            "stop_at", fn.greatest("from_at", "last_t", fn.least("heard_until", fn.lead("from_at").over(order)))
        ),
    )
    next_at = fn.greatest(fn.lead("from_at").over(order), "seen_until")
    crashed_at = fn.least(next_at, fn.col("seen_until") + fn.expr(RECORD_EVERY))
    ended = fn.when(fn.col("stop_seq").isNotNull(), "stopped").when(fn.col("to_seq").isNotNull(), "crashed")
    bounded = in_order.withColumn("ended", ended).withColumn(
        "to_at",
        fn.when(fn.col("ended") == "stopped", fn.col("seen_until")).when(fn.col("ended") == "crashed", crashed_at),
    )
    return bounded.withColumn("before_at", fn.coalesce(fn.lag("to_at").over(order), "known_before_at"))


def _from_events(inputs: Inputs) -> DataFrame:
    started, stopped = fn.col("kind") == "server_started", fn.col("kind") == "server_stopped"
    return (
        inputs.events()
        .groupBy("ns", "boot")
        .agg(
            fn.min("seq").alias("from_seq"),
            fn.min_by("t", "seq").alias("from_at"),
            fn.max("at").alias("seen_until"),
            fn.max(fn.when(started, fn.coalesce("recovered", fn.lit(0)))).alias("recovered"),
            fn.max(fn.when(started, fn.coalesce("cold", fn.lit(False)))).alias("cold"),
            fn.max("seq").alias("last_seq"),
            fn.max(fn.when(~is_rollup(), fn.col("t"))).alias("last_t"),
            fn.max(fn.when(stopped, fn.col("seq"))).alias("stop_seq"),
            fn.max(fn.when(stopped, fn.col("t"))).alias("stop_at"),
        )
        .withColumn("before_at", fn.lit(None).cast("timestamp"))
    )


def _from_edge(inputs: Inputs) -> DataFrame:
    """The existing row, without a stop that is read again."""
    edge = inputs.edge().select("*", inputs.in_window("from_seq").alias("redone"))
    stays = fn.col("stop_seq") < fn.col("redone")
    return edge.select(
        "ns",
        "boot",
        *_PARTS,
        "last_seq",
        "last_t",
        fn.when(stays, fn.col("stop_seq")).alias("stop_seq"),
        fn.when(stays, fn.col("stop_at")).alias("stop_at"),
    )


STEP = Step(OBSERVED, (), build)
