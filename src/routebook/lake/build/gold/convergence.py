"""gold.convergence: one change across all NameServers, with the time at the first and at the last of them."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from routebook.lake.build.silver.broker_spans import LOST, NAMESERVER_STOPPED
from routebook.lake.build.silver.differences import PROPAGATION_S
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import CONVERGENCE

_CHANGE: Final = ("change", "broker", "addr", "topic", "value")
_OBSERVATION: Final = "struct<at: timestamp, ns: string, seq: bigint>"
_LIMIT: Final = f"interval {PROPAGATION_S} seconds"
_SINGLE_TOPIC: Final = ("registration", "register_topic", "topic_deleted")
_ALL_TOPICS: Final = ("permission_wiped", "permission_restored")


def build(inputs: Inputs) -> DataFrame:
    """Changes since the begin of the windows, and those that were still in propagation then."""
    since = inputs.since()
    seen = _brokers(inputs.table("broker_spans")).unionByName(_topics(inputs.table("topic_spans")))
    fresh = seen.where(fn.col("at") >= since)
    # without the observations that are read again
    known = (
        inputs.edge()
        .select(*_CHANGE, fn.explode("seen").alias("observation"))
        .select(*_CHANGE, "observation.ns", "observation.seq", "observation.at")
        .where(fn.col("at") < since)
    )
    return _changes(fresh.unionByName(known))


def _observations(
    rows: DataFrame, change: Column, *, at: str, seq: str, topic: Column, addr: Column, value: Column
) -> DataFrame:
    return rows.select(
        change.alias("change"),
        "broker",
        addr.cast("string").alias("addr"),
        topic.cast("string").alias("topic"),
        value.cast("string").alias("value"),
        "ns",
        fn.col(seq).alias("seq"),
        fn.col(at).alias("at"),
    )


def _brokers(spans: DataFrame) -> DataFrame:
    none, addr = fn.lit(None), fn.col("addr")
    up = spans.where("state = 'up'")
    added = _observations(
        up.where("began = 'up'"), fn.lit("broker_up"), at="from_at", seq="from_seq", topic=none, addr=addr, value=none
    )
    is_gone = fn.col("to_seq").isNotNull() & ~fn.col("ended").isin(LOST, NAMESERVER_STOPPED)
    removed = _observations(
        up.where(is_gone), fn.lit("broker_down"), at="to_at", seq="to_seq", topic=none, addr=addr, value=none
    )
    switched = up.select("ns", "broker", "addr", fn.inline("roles"))
    roles = _observations(
        switched,
        fn.lit("role"),
        at="at",
        seq="seq",
        topic=none,
        addr=addr,
        value=fn.concat(fn.lit("id "), fn.col("broker_id").cast("string")),
    )
    return added.unionByName(removed).unionByName(roles)


def _topics(spans: DataFrame) -> DataFrame:
    shape = fn.format_string("perm %d, read %d, write %d", "perm", "read", "write")
    keys = ("ns", "broker", "topic")
    begun = spans.where(fn.col("cause").isin(*_SINGLE_TOPIC)).select(
        *keys,
        fn.col("from_seq").alias("seq"),
        fn.col("from_at").alias("at"),
        shape.alias("now"),
        fn.lit(0).alias("was"),
    )
    ended = spans.where(fn.col("ended_by").isin(*_SINGLE_TOPIC)).select(
        *keys,
        fn.col("to_seq").alias("seq"),
        fn.col("to_at").alias("at"),
        fn.lit(None).cast("string").alias("now"),
        fn.lit(1).alias("was"),
    )
    changed = (
        begun.unionByName(ended)
        .groupBy(*keys, "seq")
        .agg(fn.min("at").alias("at"), fn.max("now").alias("now"), fn.max("was").alias("was"))
    )
    change = (
        fn.when(fn.col("now").isNull(), "topic_removed")
        .when(fn.col("was") == 1, "topic_changed")
        .otherwise("topic_added")
    )
    none = fn.lit(None)
    single = _observations(changed, change, at="at", seq="seq", topic=fn.col("topic"), addr=none, value=fn.col("now"))
    all_topics = (
        spans.where(fn.col("cause").isin(*_ALL_TOPICS))
        .select("ns", "broker", "cause", "from_seq", "from_at")
        .distinct()
    )
    return single.unionByName(
        _observations(all_topics, fn.col("cause"), at="from_at", seq="from_seq", topic=none, addr=none, value=none)
    )


def _changes(observations: DataFrame) -> DataFrame:
    order = Window.partitionBy(*_CHANGE).orderBy("at", "ns", "seq")
    gap = fn.col("at") > fn.lag("at").over(order) + fn.expr(_LIMIT)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    observation = fn.struct("at", "ns", "seq").cast(_OBSERVATION)
    return (
        observations.select("*", fn.coalesce(gap.cast("int"), fn.lit(0)).alias("is_apart"))
        .select(*_CHANGE, observation.alias("observation"), fn.sum("is_apart").over(so_far).alias("part"))
        .groupBy(*_CHANGE, "part")
        .agg(fn.sort_array(fn.collect_list("observation")).alias("observations"))
        .select(*_CHANGE, fn.explode(_grouped(fn.col("observations"))).alias("seen"))
        .select("*", fn.get("seen", 0).alias("first"), fn.element_at("seen", -1).alias("last"))
        .select(
            fn.substring(fn.sha2(fn.to_json(fn.struct(*_CHANGE, "first.ns", "first.seq")), 256), 1, 16).alias(
                "change_id"
            ),
            *_CHANGE,
            fn.col("first.at").alias("first_at"),
            fn.col("last.at").alias("last_at"),
            fn.size("seen").alias("nameservers"),
            (fn.unix_millis("last.at") - fn.unix_millis("first.at")).alias("spread_ms"),
            "seen",
            (fn.col("first.at") + fn.expr(_LIMIT)).alias("settled_at"),
        )
    )


def _grouped(observations: Column) -> Column:
    """Groups the observations by change."""

    def take(changes: Column, observation: Column) -> Column:
        last = fn.element_at(changes, -1)
        belongs = (observation["at"] <= fn.get(last, 0)["at"] + fn.expr(_LIMIT)) & ~fn.exists(
            last, lambda other: other["ns"] == observation["ns"]
        )
        before = fn.slice(changes, 1, fn.size(changes) - 1)
        return (
            fn.when(fn.size(changes) == 0, fn.array(fn.array(observation)))
            .when(belongs, fn.concat(before, fn.array(fn.concat(last, fn.array(observation)))))
            .otherwise(fn.concat(changes, fn.array(fn.array(observation))))
        )

    return fn.aggregate(observations, fn.array().cast(f"array<array<{_OBSERVATION}>>"), take)


STEP = Step(CONVERGENCE, reads=("broker_spans", "topic_spans"), build=build, kinds=())
