"""gold.sync_state: intervals in which a broker set had the same master and in-sync replicas."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import SYNC_STATE

_CHANGES = (
    "master_elected",
    "no_master_elected",
    "sync_state_changed",
    "broker_id_assigned",
    "replicas_cleaned",
    "broker_set_state",
)
_BOUNDARIES = ("controller_leader", "server_started", "server_stopped")  # end the rows of all sets of a NameServer
_STATE = ("master_id", "master_epoch", "sync_state_epoch", "in_sync", "out_of_sync", "replicas")


def build(inputs: Inputs) -> DataFrame:
    """Rows open at the begin of the window, and every event in it, each until the next one that differs."""
    events = inputs.events(*_CHANGES, *_BOUNDARIES)
    is_boundary = fn.col("kind").isin(*_BOUNDARIES)
    members = fn.when(
        fn.col("kind") == "broker_set_state",
        fn.transform(fn.map_keys("replicas"), lambda number: number.cast("bigint")),
    ).otherwise(fn.col("members"))
    changed = events.select(
        "ns",
        "cluster",
        fn.when(~is_boundary, fn.col("broker")).alias("broker"),
        fn.col("t").alias("from_at"),
        fn.col("seq").alias("from_seq"),
        "master_id",
        "master_epoch",
        "sync_state_epoch",
        "in_sync",
        fn.sort_array(fn.array_except(members, "in_sync")).alias("out_of_sync"),
        fn.size(members).alias("replicas"),
        (is_boundary | fn.coalesce("removed_set", fn.lit(False))).alias("ends"),
    )
    known = inputs.edge().select(*[name for name in changed.columns if name != "ends"], fn.lit(False).alias("ends"))
    return _intervals(known.unionByName(changed))


def _intervals(rows: DataFrame) -> DataFrame:
    everything = Window.partitionBy("ns").orderBy("from_seq")
    after = everything.rowsBetween(1, Window.unboundedFollowing)
    boundary = fn.when(fn.col("broker").isNull(), fn.struct("from_seq", "from_at"))
    runs = rows.select(
        "*",
        fn.count(fn.when(fn.col("broker").isNull(), 1)).over(everything).alias("run"),
        fn.first(boundary, ignorenulls=True).over(after).alias("cut"),
    ).where(fn.col("broker").isNotNull())
    of_set = Window.partitionBy("ns", "broker", "run").orderBy("from_seq")
    distinct = runs.select("*", fn.lag(_state()).over(of_set).alias("earlier")).where(
        fn.col("earlier").isNull() | ~fn.col("earlier").eqNullSafe(_state())
    )
    following = fn.lead(fn.struct("from_seq", "from_at")).over(of_set)
    ended = distinct.select("*", fn.coalesce(following, fn.col("cut")).alias("end")).where(~fn.col("ends"))
    to_at = fn.col("end.from_at")
    return ended.select(
        "ns",
        "cluster",
        "broker",
        "from_at",
        to_at.alias("to_at"),
        ((fn.unix_millis(to_at) - fn.unix_millis("from_at")) / 1000).alias("duration_s"),
        *_STATE,
        "from_seq",
        fn.col("end.from_seq").alias("to_seq"),
    )


def _state() -> Column:
    return fn.struct(*_STATE, "ends")


STEP = Step(SYNC_STATE, reads=(), build=build, kinds=(*_CHANGES, *_BOUNDARIES), open_only=_BOUNDARIES)
