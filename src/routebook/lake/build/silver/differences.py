"""silver.differences: what two NameServers know otherwise of a topic on a broker, or of a member of a broker group.

Kept are all differences that are open, short as they may be yet, and of those that ended the ones that lasted at least
PROPAGATION_S while the two could be compared (silver/views.py): shorter ones are changes on their way from a broker to
both. So a refresh knows since when something differs though it reads nothing of the time before.

One pass over state changes, partitioned by what they are about; most things change everywhere within moments and are
set aside before rows are paired.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as fn

from routebook.codes import MASTER_ID
from routebook.lake.build.silver.groups import members
from routebook.lake.build.silver.pairs import peers_of, with_pairs
from routebook.lake.build.silver.views import comparable
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.silver import DIFFERENCES

PROPAGATION_S: Final = 120
"""A difference that lasts longer is not on its way any more; routebook.peers.divergedSeconds has the same default."""

MEMBER: Final = "member"
TOPIC: Final = "topic"

_THING: Final = ("kind", "broker", "item")
_ABSENT: Final = ""
_POINT: Final = "struct<t: timestamp, seq: bigint, step: int, state: string>"
_LIMIT: Final = f"interval {PROPAGATION_S} seconds"


def build(inputs: Inputs) -> DataFrame:
    """Differences from `since` on, joined to those that were open there."""
    observed, brokers = inputs.table("observed"), inputs.table("broker_spans")
    since = inputs.since()
    watched = fn.broadcast(observed.select("ns").distinct())
    peers = inputs.cache(peers_of(brokers.join(watched, "ns", "left_semi"), inputs.edge()))
    states = _states(brokers, inputs.table("topic_spans")).join(watched, "ns", "left_semi")
    changed = _worth_a_look(states, edge=inputs.edge(), peers=peers, since=since)
    told = _told(with_pairs(_moments(changed, since), peers), since)
    views = comparable(observed, brokers, peers=peers, since=since)
    spans = _among_the_living(_spans(_in_view(told, views), inputs.edge()), observed)
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


def _worth_a_look(states: DataFrame, *, edge: DataFrame, peers: DataFrame, since: Column) -> DataFrame:
    """Of all things those that changed since, or differed then; but not those that came and went everywhere at once.

    First by brokers, of which there are few, so that only those of brokers with news are moved; and these once.
    """
    is_news = (fn.col("from_at") >= since) | fn.col("to_at").isNotNull()
    scope = ["kind", "broker"]
    brokers = states.where(is_news).select(*scope).unionByName(edge.select(*scope)).distinct()
    wanted = states.join(fn.broadcast(brokers), scope, "left_semi").select(
        *states.columns, is_news.alias("is_news"), fn.lit(False).alias("differed")
    )
    open_things = edge.select(*_THING).distinct().select(*_THING, fn.lit(True).alias("differed"))
    thing = Window.partitionBy(*_THING)
    return (
        wanted.unionByName(open_things, allowMissingColumns=True)
        .repartition(*_THING)
        .join(fn.broadcast(peers), "ns", "left")
        .select(
            *states.columns,
            fn.max("is_news").over(thing).alias("is_news"),
            fn.max("differed").over(thing).alias("differed"),
            _together(thing).alias("together"),
        )
        .where(fn.col("state").isNotNull() & (fn.col("differed") | (fn.col("is_news") & ~fn.col("together"))))
        .drop("is_news", "differed", "together")
    )


def _together(thing: WindowSpec) -> Column:
    """All NameServers have it once, alike, and have known of its coming and going at about the same time."""
    everywhere = fn.max(fn.coalesce(fn.size("peers"), fn.lit(0)) + 1).over(thing)
    ends = fn.count("to_at").over(thing)
    return (
        (fn.count("state").over(thing) == everywhere)
        & (fn.size(fn.collect_set("ns").over(thing)) == everywhere)
        & (fn.min("state").over(thing) == fn.max("state").over(thing))
        & _within(fn.min("from_at").over(thing), fn.max("from_at").over(thing))
        & ((ends == 0) | ((ends == everywhere) & _within(fn.min("to_at").over(thing), fn.max("to_at").over(thing))))
    )


def _within(first: Column, last: Column) -> Column:
    return last < first + fn.expr(_LIMIT)


def _moments(states: DataFrame, since: Column) -> DataFrame:
    """`ns, kind, broker, item, at, state`: what a NameServer knew after each moment at which that changed."""
    begin = fn.struct("from_at", "from_seq", fn.lit(1), "state").cast(_POINT)
    end = fn.struct("to_at", "to_seq", fn.lit(0), fn.lit(_ABSENT)).cast(_POINT)
    points = fn.when(fn.col("to_at").isNull(), fn.array(begin)).otherwise(fn.array(begin, end))
    return (
        states.select("ns", *_THING, fn.explode(points).alias("point"))
        .groupBy("ns", *_THING, fn.greatest("point.t", since).alias("at"))
        .agg(fn.max_by("point.state", fn.struct("point.seq", "point.step")).alias("state"))
    )


def _told(sides: DataFrame, since: Column) -> DataFrame:
    """`ns_a, ns_b, kind, broker, item, at, until, difference, at_a, at_b`: from each change of it to the next.

    What is short and over is told as no difference, but for what may have begun before `since`.
    """
    order = Window.partitionBy(*_THING, "ns_a", "ns_b").orderBy("at")
    so_far = order.rangeBetween(Window.unboundedPreceding, Window.currentRow)

    def known(side: str) -> Column:
        mine = fn.when(fn.col("side") == side, fn.col("state"))
        return fn.coalesce(fn.last(mine, ignorenulls=True).over(so_far), fn.lit(_ABSENT))

    both = sides.select("ns_a", "ns_b", *_THING, "at", known("a").alias("at_a"), known("b").alias("at_b"))
    named = both.select("*", _difference().alias("difference"))
    # two sides that change at once are two rows with the same to tell
    changed = named.select("*", fn.lag(_or_none("difference")).over(order).alias("before")).where(
        ~_or_none("difference").eqNullSafe(fn.col("before"))
    )
    timed = changed.select("*", fn.lead("at").over(order).alias("until"))
    is_short = (fn.col("until") < fn.col("at") + fn.expr(_LIMIT)) & (fn.col("at") > since)
    return timed.select(
        "ns_a",
        "ns_b",
        *_THING,
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


def _in_view(told: DataFrame, views: DataFrame) -> DataFrame:
    """Cut where it begins or ends that the two can be compared: `comparable`, null where nothing differs."""
    key = ["ns_a", "ns_b", "broker"]
    same = told.where("difference is null").select(
        "ns_a", "ns_b", *_THING, "at", "difference", "at_a", "at_b", fn.lit(None).cast("boolean").alias("comparable")
    )
    view = views.select(
        *key, fn.col("from_at").alias("view_from"), fn.col("to_at").alias("view_to"), "members", "topics"
    )
    meets = (fn.col("view_from").isNull()) | (
        (fn.col("until").isNull() | (fn.col("view_from") < fn.col("until")))
        & (fn.col("view_to").isNull() | (fn.col("view_to") > fn.col("at")))
    )
    is_seen = fn.when(fn.col("kind") == MEMBER, fn.col("members")).otherwise(fn.col("topics"))
    differs = (
        told.where("difference is not null")
        .join(view, key, "left")
        .where(meets)
        .select(
            "ns_a",
            "ns_b",
            *_THING,
            fn.greatest("at", "view_from").alias("at"),
            "difference",
            "at_a",
            "at_b",
            fn.coalesce(is_seen, fn.lit(False)).alias("comparable"),
        )
    )
    return same.unionByName(differs)


def _spans(told: DataFrame, edge: DataFrame) -> DataFrame:
    """Each difference until it ends, changes, or can no more be seen; those that were open go on."""
    before = edge.drop("to_at").withColumnRenamed("from_at", "at")
    order = Window.partitionBy(*_THING, "ns_a", "ns_b").orderBy("at")
    what = fn.struct("difference", "comparable")
    changed = (
        told.select("*", fn.lit(None).cast("bigint").alias("topics"))
        .unionByName(before)
        .select("*", what.alias("what"))
        .select("*", fn.lag("what").over(order).alias("what_before"))
        .where(fn.col("what_before").isNull() | ~fn.col("what").eqNullSafe(fn.col("what_before")))
    )
    lasted = fn.col("comparable") & (fn.col("to_at") >= fn.col("from_at") + fn.expr(_LIMIT))
    return (
        changed.select("*", fn.lead("at").over(order).alias("to_at"))
        .withColumnRenamed("at", "from_at")
        .where(fn.col("difference").isNotNull() & (fn.col("to_at").isNull() | lasted))
    )


def _among_the_living(spans: DataFrame, observed: DataFrame) -> DataFrame:
    """Without what cannot be compared because one has stopped: if it comes back, all is read again from there."""
    living = observed.where("to_at is null").agg(fn.collect_set("ns").alias("living"))
    is_alive = fn.array_contains("living", fn.col("ns_a")) & fn.array_contains("living", fn.col("ns_b"))
    both = spans.crossJoin(fn.broadcast(living)).where(fn.col("comparable") | fn.col("to_at").isNotNull() | is_alive)
    return both.drop("living")


def _with_topics(spans: DataFrame, topic_spans: DataFrame) -> DataFrame:
    """How many topics were on the broker of a member that one lacks, at the other, when that began."""
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
    """`ns, broker, count, count_from, count_to`: how many topics a broker had, from when to when."""
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


STEP = Step(DIFFERENCES, reads=("observed", "broker_spans", "topic_spans"), build=build)
