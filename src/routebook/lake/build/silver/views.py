"""Intervals in which two NameServers are comparable about a broker.

Members of a group are comparable while both NameServers run. In the first SETTLING_S after a start a difference is
normal: a recovered broker is kept until its lease ends, and after a cold start brokers have yet to register.
`settled_at` is the end of this time; a difference that ended before it is not reported, one that outlasts it is, from
its begin. Topics are comparable only while both have the group: a missing broker with ten thousand topics is one
difference. And only while both see a master, or both see none: without a master, topics are read-only where slaves may
act as master.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as fn

from routebook.lake.build.silver.groups import group_changes
from routebook.lake.build.silver.pairs import with_pairs

SETTLING_S: Final = 150
"""How long after a start differences are normal: a recovered broker is kept for 120 s and one scan."""

_DOWN: Final = "down"  # the NameServer is down
_RUN: Final = "struct<is_running: boolean, settled_at: timestamp>"
_NONE: Final = "none"  # no such group
_SLAVES: Final = "slaves"
_MASTER: Final = "master"


def comparable(observed: DataFrame, broker_spans: DataFrame, *, peers: DataFrame, since: Column) -> DataFrame:
    """`ns_a, ns_b, broker, from_at, to_at, members, topics, settled_at`: contiguous intervals from `since`."""
    brokers = fn.broadcast(broker_spans.select("broker").distinct())
    watching = _watching(observed).crossJoin(brokers)
    groups = group_changes(broker_spans).select(
        "ns", "broker", "t", "seq", fn.lit(None).cast(_RUN).alias("run"), _shape().alias("shape")
    )
    # earlier states hold at `since`
    clipped = watching.unionByName(groups).select("*", fn.greatest("t", since).alias("at"))
    latest = fn.struct("t", "seq")
    moments = clipped.groupBy("ns", "broker", "at").agg(
        fn.max_by("run", fn.when(fn.col("run").isNotNull(), latest)).alias("run"),
        fn.max_by("shape", fn.when(fn.col("shape").isNotNull(), latest)).alias("shape"),
    )
    so_far = Window.partitionBy("ns", "broker").orderBy("at").rowsBetween(Window.unboundedPreceding, 0)
    run = fn.last("run", ignorenulls=True).over(so_far)
    seen = moments.select(
        "ns",
        "broker",
        "at",
        fn.when(run["is_running"], _last_shape(so_far)).otherwise(_DOWN).alias("view"),
        run["settled_at"].alias("settled_at"),
    )
    return _both(with_pairs(seen, peers))


def _last_shape(so_far: WindowSpec) -> Column:
    return fn.coalesce(fn.last("shape", ignorenulls=True).over(so_far), fn.lit(_NONE))


def _shape() -> Column:
    return fn.when(fn.col("members") <= 0, _NONE).when(fn.col("masters") > 0, _MASTER).otherwise(_SLAVES)


def _watching(observed: DataFrame) -> DataFrame:
    """When a NameServer started, and when it ended."""
    settled_at = fn.col("from_at") + fn.expr(f"interval {SETTLING_S} seconds")
    no_shape = fn.lit(None).cast("string").alias("shape")
    begun = observed.select(
        "ns",
        fn.col("from_at").alias("t"),
        fn.col("from_seq").alias("seq"),
        fn.struct(fn.lit(True), settled_at).cast(_RUN).alias("run"),
        no_shape,
    )
    ended = observed.where(fn.col("to_at").isNotNull()).select(
        "ns",
        fn.col("to_at").alias("t"),
        fn.col("last_seq").alias("seq"),
        fn.struct(fn.lit(False), settled_at).cast(_RUN).alias("run"),
        no_shape,
    )
    return begun.unionByName(ended)


def _both(sides: DataFrame) -> DataFrame:
    order = Window.partitionBy("ns_a", "ns_b", "broker").orderBy("at")
    # the range frame includes all rows of the same time, of both sides
    so_far = order.rangeBetween(Window.unboundedPreceding, Window.currentRow)

    def view(side: str) -> Column:
        mine = fn.when(fn.col("side") == side, fn.col("view"))
        return fn.coalesce(fn.last(mine, ignorenulls=True).over(so_far), fn.lit(_DOWN))

    def settled_at(side: str) -> Column:
        return fn.last(fn.when(fn.col("side") == side, fn.col("settled_at")), ignorenulls=True).over(so_far)

    both = sides.select(
        "ns_a",
        "ns_b",
        "broker",
        "at",
        view("a").alias("a"),
        view("b").alias("b"),
        fn.greatest(settled_at("a"), settled_at("b")).alias("settled_at"),
    )
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
        "settled_at",
    ).where("to_at is null or to_at > from_at")
