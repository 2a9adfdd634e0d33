"""silver.differences: differences between two NameServers about a topic on a broker, or a member of a broker group.

A refresh reads the begin of an open difference from this table instead of earlier events. The step makes one pass over
state changes, partitioned by item. Most items change at all NameServers at about the same time; they are removed before
rows are paired.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as fn

from routebook.codes import MASTER_ID
from routebook.lake.build.silver.groups import members
from routebook.lake.build.silver.pairs import peers_of, with_pairs
from routebook.lake.build.silver.views import comparable
from routebook.lake.build.step import Inputs, Progress, Step
from routebook.lake.tables.silver import DIFFERENCES

PROPAGATION_S: Final = 120
"""The longest normal propagation time of a change; the default of routebook.peers.divergedSeconds."""

MEMBER: Final = "member"
TOPIC: Final = "topic"

_ITEM: Final = ("kind", "broker", "item")
_ABSENT: Final = ""
_POINT: Final = "struct<t: timestamp, seq: bigint, step: int, state: string>"
_LIMIT: Final = f"interval {PROPAGATION_S} seconds"


def build(inputs: Inputs) -> DataFrame:
    """Differences since the begin of the windows, and those that were open then."""
    observed, brokers = inputs.table("observed"), inputs.table("broker_spans")
    since = inputs.since()
    watched = fn.broadcast(observed.select("ns").distinct())
    peers = inputs.cache(peers_of(brokers.join(watched, "ns", "left_semi"), inputs.edge()))
    if peers.isEmpty():  # NameServers without peers have no differences, open ones included; the plan below is large
        return inputs.no_rows()
    states = _states(brokers, inputs.table("topic_spans")).join(watched, "ns", "left_semi")
    changed = _candidates(states, edge=inputs.edge(), peers=peers, since=since)
    changes = _changes(with_pairs(_moments(changed, since), peers), since)
    views = comparable(observed, brokers, peers=peers, since=since)
    spans = _of_running(_spans(_in_view(changes, views), inputs.edge()), observed)
    return _with_topics(spans, inputs.table("topic_spans"))


def _states(brokers: DataFrame, topics: DataFrame) -> DataFrame:
    """`ns, kind, broker, item, state, from_at, to_at, from_seq, to_seq`."""
    times = ("from_at", "to_at", "from_seq", "to_seq")
    role = fn.when(fn.col("broker_id") == MASTER_ID, "master").otherwise("slave")
    of_members = members(brokers).select(
        "ns", fn.lit(MEMBER).alias("kind"), "broker", fn.col("addr").alias("item"), role.alias("state"), *times
    )
    shape = fn.format_string("perm %d, read %d, write %d", "perm", "read", "write")
    of_topics = topics.select(
        "ns", fn.lit(TOPIC).alias("kind"), "broker", fn.col("topic").alias("item"), shape.alias("state"), *times
    )
    return of_members.unionByName(of_topics)


def _candidates(states: DataFrame, *, edge: DataFrame, peers: DataFrame, since: Column) -> DataFrame:
    """States of the items that changed since, or differed then, except those that changed everywhere at the same time.

    Filters by broker first: there are few brokers, so only the items of changed brokers are shuffled, once.
    """
    is_new = (fn.col("from_at") >= since) | fn.col("to_at").isNotNull()
    scope = ["kind", "broker"]
    brokers = states.where(is_new).select(*scope).unionByName(edge.select(*scope)).distinct()
    wanted = states.join(fn.broadcast(brokers), scope, "left_semi").select(
        *states.columns, is_new.alias("is_new"), fn.lit(False).alias("differed")
    )
    open_items = edge.select(*_ITEM).distinct().select(*_ITEM, fn.lit(True).alias("differed"))
    item = Window.partitionBy(*_ITEM)
    return (
        wanted.unionByName(open_items, allowMissingColumns=True)
        .repartition(*_ITEM)
        .join(fn.broadcast(peers), "ns", "left")
        .select(
            *states.columns,
            fn.max("is_new").over(item).alias("is_new"),
            fn.max("differed").over(item).alias("differed"),
            _is_simultaneous(item).alias("simultaneous"),
        )
        .where(fn.col("state").isNotNull() & (fn.col("differed") | (fn.col("is_new") & ~fn.col("simultaneous"))))
        .drop("is_new", "differed", "simultaneous")
    )


def _is_simultaneous(item: WindowSpec) -> Column:
    """All NameServers have one equal state of the item, which began and ended at about the same time."""
    everywhere = fn.max(fn.coalesce(fn.size("peers"), fn.lit(0)) + 1).over(item)
    ends = fn.count("to_at").over(item)
    return (
        (fn.count("state").over(item) == everywhere)
        & (fn.size(fn.collect_set("ns").over(item)) == everywhere)
        & (fn.min("state").over(item) == fn.max("state").over(item))
        & _within(fn.min("from_at").over(item), fn.max("from_at").over(item))
        & ((ends == 0) | ((ends == everywhere) & _within(fn.min("to_at").over(item), fn.max("to_at").over(item))))
    )


def _within(first: Column, last: Column) -> Column:
    return last < first + fn.expr(_LIMIT)


def _moments(states: DataFrame, since: Column) -> DataFrame:
    """`ns, kind, broker, item, at, state`: the state at a NameServer after each change."""
    begin = fn.struct("from_at", "from_seq", fn.lit(1), "state").cast(_POINT)
    end = fn.struct("to_at", "to_seq", fn.lit(0), fn.lit(_ABSENT)).cast(_POINT)
    points = fn.when(fn.col("to_at").isNull(), fn.array(begin)).otherwise(fn.array(begin, end))
    return (
        states.select("ns", *_ITEM, fn.explode(points).alias("point"))
        .groupBy("ns", *_ITEM, fn.greatest("point.t", since).alias("at"))
        .agg(fn.max_by("point.state", fn.struct("point.seq", "point.step")).alias("state"))
    )


def _changes(sides: DataFrame, since: Column) -> DataFrame:
    """`ns_a, ns_b, kind, broker, item, at, until, difference, at_a, at_b`: from each change to the next.

    A short difference that has ended counts as none, unless it may have begun before `since`.
    """
    order = Window.partitionBy(*_ITEM, "ns_a", "ns_b").orderBy("at")
    so_far = order.rangeBetween(Window.unboundedPreceding, Window.currentRow)

    def known(side: str) -> Column:
        mine = fn.when(fn.col("side") == side, fn.col("state"))
        return fn.coalesce(fn.last(mine, ignorenulls=True).over(so_far), fn.lit(_ABSENT))

    both = sides.select("ns_a", "ns_b", *_ITEM, "at", known("a").alias("at_a"), known("b").alias("at_b"))
    named = both.select("*", _difference().alias("difference"))
    # two sides that change at the same time are two equal rows
    changed = named.select("*", fn.lag(_or_none("difference")).over(order).alias("before")).where(
        ~_or_none("difference").eqNullSafe(fn.col("before"))
    )
    timed = changed.select("*", fn.lead("at").over(order).alias("until"))
    is_short = (fn.col("until") < fn.col("at") + fn.expr(_LIMIT)) & (fn.col("at") > since)
    return timed.select(
        "ns_a",
        "ns_b",
        *_ITEM,
        "at",
        "until",
        fn.when(~fn.coalesce(is_short, fn.lit(False)), fn.col("difference")).alias("difference"),
        "at_a",
        "at_b",
    )


def _or_none(difference: str) -> Column:
    return fn.coalesce(fn.col(difference), fn.lit("none"))


def _difference() -> Column:
    a, b = fn.col("at_a"), fn.col("at_b")
    perm_a, perm_b = fn.substring_index(a, ",", 1), fn.substring_index(b, ",", 1)
    rest_a, rest_b = fn.substring_index(a, ",", -2), fn.substring_index(b, ",", -2)
    return (
        fn.when(a == b, None)
        .when(a == _ABSENT, "missing_a")
        .when(b == _ABSENT, "missing_b")
        .when(fn.col("kind") == MEMBER, "role")
        .when(perm_a == perm_b, "queues")
        .when(rest_a == rest_b, "permission")
        .otherwise("queues, permission")
    )


def _in_view(changes: DataFrame, views: DataFrame) -> DataFrame:
    """Split where the two NameServers become comparable or stop being so: `comparable`, null without a difference."""
    key = ["ns_a", "ns_b", "broker"]
    same = changes.where("difference is null").select(
        "ns_a",
        "ns_b",
        *_ITEM,
        "at",
        "difference",
        "at_a",
        "at_b",
        fn.lit(None).cast("boolean").alias("comparable"),
        fn.lit(None).cast("timestamp").alias("settled_at"),
    )
    view = views.select(
        *key, fn.col("from_at").alias("view_from"), fn.col("to_at").alias("view_to"), "members", "topics", "settled_at"
    )
    meets = (fn.col("view_from").isNull()) | (
        (fn.col("until").isNull() | (fn.col("view_from") < fn.col("until")))
        & (fn.col("view_to").isNull() | (fn.col("view_to") > fn.col("at")))
    )
    is_seen = fn.when(fn.col("kind") == MEMBER, fn.col("members")).otherwise(fn.col("topics"))
    differs = (
        changes.where("difference is not null")
        .join(view, key, "left")
        .where(meets)
        .select(
            "ns_a",
            "ns_b",
            *_ITEM,
            fn.greatest("at", "view_from").alias("at"),
            "difference",
            "at_a",
            "at_b",
            fn.coalesce(is_seen, fn.lit(False)).alias("comparable"),
            "settled_at",
        )
    )
    return same.unionByName(differs)


def _spans(changes: DataFrame, edge: DataFrame) -> DataFrame:
    """Differences until they end, change or stop being comparable; open ones continue."""
    before = edge.drop("to_at").withColumnRenamed("from_at", "at")
    order = Window.partitionBy(*_ITEM, "ns_a", "ns_b").orderBy("at")
    what = fn.struct("difference", "comparable")
    changed = (
        changes.select("*", fn.lit(None).cast("bigint").alias("topics"))
        .unionByName(before)
        .select("*", what.alias("what"))
        .select("*", fn.lag("what").over(order).alias("what_before"))
        .where(fn.col("what_before").isNull() | ~fn.col("what").eqNullSafe(fn.col("what_before")))
    )
    is_long = fn.col("to_at") >= fn.col("from_at") + fn.expr(_LIMIT)
    lasted = fn.col("comparable") & is_long & fn.coalesce(fn.col("to_at") > fn.col("settled_at"), fn.lit(True))
    return (
        changed.select("*", fn.lead("at").over(order).alias("to_at"))
        .withColumnRenamed("at", "from_at")
        .where(fn.col("difference").isNotNull() & (fn.col("to_at").isNull() | lasted))
    )


def _of_running(spans: DataFrame, observed: DataFrame) -> DataFrame:
    """Drop open rows that are not comparable because a NameServer has stopped: its restart is read again."""
    running = observed.where("to_at is null").agg(fn.collect_set("ns").alias("running"))
    both_run = fn.array_contains("running", fn.col("ns_a")) & fn.array_contains("running", fn.col("ns_b"))
    kept = spans.crossJoin(fn.broadcast(running)).where(fn.col("comparable") | fn.col("to_at").isNotNull() | both_run)
    return kept.drop("running")


def _with_topics(spans: DataFrame, topic_spans: DataFrame) -> DataFrame:
    """Add the number of topics that the broker of a missing member had at the other NameServer."""
    has = fn.when(fn.col("difference") == "missing_a", fn.col("ns_b")).otherwise(fn.col("ns_a"))
    mine = spans.select("*", fn.when(fn.col("kind") == MEMBER, has).alias("has"))
    counted = _topic_counts(topic_spans).select(
        fn.col("ns").alias("has"), "broker", "count_from", "count_to", fn.col("count").alias("counted")
    )
    is_then = (fn.col("from_at") >= fn.col("count_from")) & (
        fn.col("count_to").isNull() | (fn.col("from_at") < fn.col("count_to"))
    )
    joined = mine.join(
        counted, (mine["has"] == counted["has"]) & (mine["broker"] == counted["broker"]) & is_then, "left"
    )
    kept = [mine[column] for column in spans.columns if column != "topics"]
    return joined.select(*kept, fn.coalesce(mine["topics"], counted["counted"]).alias("topics"))


def _topic_counts(topic_spans: DataFrame) -> DataFrame:
    """`ns, broker, count, count_from, count_to`: the number of topics of a broker over time."""
    begun = topic_spans.select("ns", "broker", fn.col("from_at").alias("t"), fn.lit(1).alias("more"))
    ended = topic_spans.where("to_at is not null").select(
        "ns", "broker", fn.col("to_at").alias("t"), fn.lit(-1).alias("more")
    )
    order = Window.partitionBy("ns", "broker").orderBy("t")
    return (
        begun.unionByName(ended)
        .groupBy("ns", "broker", "t")
        .agg(fn.sum("more").alias("more"))
        .select(
            "ns",
            "broker",
            fn.sum("more").over(order.rowsBetween(Window.unboundedPreceding, 0)).alias("count"),
            fn.col("t").alias("count_from"),
            fn.lead("t").over(order).alias("count_to"),
        )
    )


STEP = Step(
    DIFFERENCES,
    reads=("observed", "broker_spans", "topic_spans"),
    build=build,
    kinds=(),
    progress=Progress.NONE,
)
