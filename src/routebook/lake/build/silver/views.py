"""When two NameServers can be compared about a broker: both were watching, both have its group, in the same shape.

Which of that is wanted depends on the question. Whether a member of a group is missing can be asked while both watch.
Whether a topic of it is missing, only while both have the group: a broker that one of them lacks takes ten thousand
topics with it, and that is one difference. And only while both see a master, or both see none: without one, topics are
read only where slaves may act.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as fn

from routebook.lake.build.silver.groups import group_changes
from routebook.lake.build.silver.pairs import with_pairs

WARM_UP_S: Final = 150
"""So long after a start a NameServer is not compared: a recovered broker is kept for at most 120 s, and a scan."""

_BLIND: Final = "blind"  # nobody watched
_NONE: Final = "none"  # no such group
_SLAVES: Final = "slaves"
_MASTER: Final = "master"


def comparable(observed: DataFrame, broker_spans: DataFrame, *, peers: DataFrame, since: Column) -> DataFrame:
    """`ns_a, ns_b, broker, from_at, to_at, members, topics`: without gaps from `since`, what can be compared when."""
    brokers = fn.broadcast(broker_spans.select("broker").distinct())
    watching = _watching(observed).crossJoin(brokers)
    groups = group_changes(broker_spans).select(
        "ns", "broker", "t", "seq", fn.lit(None).cast("boolean").alias("watches"), _shape().alias("shape")
    )
    # what was so before is so at `since`
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
        fn.when(fn.last("watches", ignorenulls=True).over(so_far), _last_shape(so_far)).otherwise(_BLIND).alias("view"),
    )
    return _both(with_pairs(seen, peers))


def _last_shape(so_far: WindowSpec) -> Column:
    return fn.coalesce(fn.last("shape", ignorenulls=True).over(so_far), fn.lit(_NONE))


def _shape() -> Column:
    return fn.when(fn.col("members") <= 0, _NONE).when(fn.col("masters") > 0, _MASTER).otherwise(_SLAVES)


def _watching(observed: DataFrame) -> DataFrame:
    """When a NameServer began to know enough to be compared, and when it ended."""
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
    # moments of both sides at the same time are one: the frame goes to the last of them
    so_far = order.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    a = fn.coalesce(
        fn.last(fn.when(fn.col("side") == "a", fn.col("view")), ignorenulls=True).over(so_far), fn.lit(_BLIND)
    )
    b = fn.coalesce(
        fn.last(fn.when(fn.col("side") == "b", fn.col("view")), ignorenulls=True).over(so_far), fn.lit(_BLIND)
    )
    both = sides.select("ns_a", "ns_b", "broker", "at", a.alias("a"), b.alias("b"))
    members = (fn.col("a") != _BLIND) & (fn.col("b") != _BLIND)
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
