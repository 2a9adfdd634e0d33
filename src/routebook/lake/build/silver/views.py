"""Intervals in which two NameServers are comparable about a broker.

Members of a group are comparable while both NameServers run. Topics are comparable only while both have the group: a
missing broker with ten thousand topics is one difference. And only while both see a master, or both see none: without a
master, topics are read-only where slaves may act as master.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as fn

from routebook.lake.build.silver.groups import group_changes
from routebook.lake.build.silver.pairs import with_pairs

WARM_UP_S: Final = 150
"""A NameServer is not compared in this time after a start: a recovered broker is kept for 120 s and one scan."""

_DOWN: Final = "blind"  # the NameServer is down or warming up
_NONE: Final = "none"  # no such group
_SLAVES: Final = "slaves"
_MASTER: Final = "master"


def comparable(observed: DataFrame, broker_spans: DataFrame, *, peers: DataFrame, since: Column) -> DataFrame:
    """`ns_a, ns_b, broker, from_at, to_at, members, topics`: contiguous intervals from `since`."""
    brokers = fn.broadcast(broker_spans.select("broker").distinct())
    watching = _watching(observed).crossJoin(brokers)
    groups = group_changes(broker_spans).select(
        "ns", "broker", "t", "seq", fn.lit(None).cast("boolean").alias("watches"), _shape().alias("shape")
    )
    # earlier states hold at `since`
    clipped = watching.unionByName(groups).select("*", fn.greatest("t", since).alias("at"))
    latest = fn.struct("t", "seq")
    moments = clipped.groupBy("ns", "broker", "at").agg(
        fn.max_by("watches", fn.when(fn.col("watches").isNotNull(), latest)).alias("watches"),
        fn.max_by("shape", fn.when(fn.col("shape").isNotNull(), latest)).alias("shape"),
    )
    so_far = Window.partitionBy("ns", "broker").orderBy("at").rowsBetween(Window.unboundedPreceding, 0)
    seen = moments.select(
        "ns",
        "broker",
        "at",
        fn.when(fn.last("watches", ignorenulls=True).over(so_far), _last_shape(so_far)).otherwise(_DOWN).alias("view"),
    )
    return _both(with_pairs(seen, peers))


def _last_shape(so_far: WindowSpec) -> Column:
    return fn.coalesce(fn.last("shape", ignorenulls=True).over(so_far), fn.lit(_NONE))


def _shape() -> Column:
    return fn.when(fn.col("members") <= 0, _NONE).when(fn.col("masters") > 0, _MASTER).otherwise(_SLAVES)


def _watching(observed: DataFrame) -> DataFrame:
    """When a NameServer had warmed up after a start, and when it ended."""
    warm = fn.col("from_at") + fn.expr(f"interval {WARM_UP_S} seconds")
    common = [fn.lit(None).cast("string").alias("shape")]
    is_long = fn.col("to_at").isNull() | (fn.col("to_at") > warm)
    begun = observed.where(is_long).select(
        "ns", warm.alias("t"), fn.col("from_seq").alias("seq"), fn.lit(True).alias("watches"), *common
    )
    ended = observed.where(is_long & fn.col("to_at").isNotNull()).select(
        "ns",
        fn.col("to_at").alias("t"),
        fn.col("last_seq").alias("seq"),
        fn.lit(False).alias("watches"),
        *common,
    )
    return begun.unionByName(ended)


def _both(sides: DataFrame) -> DataFrame:
    order = Window.partitionBy("ns_a", "ns_b", "broker").orderBy("at")
    # the range frame includes all rows of the same time, of both sides
    so_far = order.rangeBetween(Window.unboundedPreceding, Window.currentRow)

    def view(side: str) -> Column:
        mine = fn.when(fn.col("side") == side, fn.col("view"))
        return fn.coalesce(fn.last(mine, ignorenulls=True).over(so_far), fn.lit(_DOWN))

    both = sides.select("ns_a", "ns_b", "broker", "at", view("a").alias("a"), view("b").alias("b"))
    members = (fn.col("a") != _DOWN) & (fn.col("b") != _DOWN)
    topics = members & (fn.col("a") == fn.col("b")) & (fn.col("a") != _NONE)
    return both.select(
        "ns_a",
        "ns_b",
        "broker",
        fn.col("at").alias("from_at"),
        fn.lead("at").over(order).alias("to_at"),
        members.alias("members"),
        topics.alias("topics"),
    ).where("to_at is null or to_at > from_at")
