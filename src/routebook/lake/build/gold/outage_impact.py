"""gold.outage_impact: each outage of a broker at each NameServer, and its impact.

Look-ups are stored per day in `lookups_by_day`, so that a refresh does not read earlier days again.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.codes import MASTER_ID, PERM_WRITE
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import OUTAGE_IMPACT
from routebook.lake.tables.meta import RETIRED

_OUTAGE: Final = ("ns", "cluster", "broker", "addr", "from_seq")


def build(inputs: Inputs) -> DataFrame:
    """Outages that touch the refreshed time: new ones completely, older ones with the look-ups since."""
    is_outage = fn.col("began") != "replaced"
    spans = inputs.table("broker_spans").where((fn.col("state") == "down") & is_outage)
    if spans.isEmpty():  # no outage touches the refreshed time; the plan below is large
        return inputs.no_rows()
    downs = _retired(_planned(spans, inputs), inputs.table(RETIRED.name)).select(
        *_OUTAGE,
        "broker_id",
        "member",
        "from_at",
        "to_at",
        "to_seq",
        "ended",
        fn.col("began").alias("reason"),
        "planned",
        "unseen",
        "retired",
        "last_seen_at",
        "returned_addr",
        _seconds("from_at", "to_at").alias("min_s"),
        _seconds("last_seen_at", "to_at").alias("max_s"),
        inputs.first_day().alias("first_day"),
    )
    new = downs.where(fn.col("from_at") >= inputs.since())
    found = _served(new, inputs.table("topic_spans"))
    orphans = _orphans(found, inputs.table("topic_spans"))
    first = _merged(new, found, orphans)
    before = inputs.edge().select(
        *_OUTAGE, "topics", "topics_without_broker", "write_queues_lost", "topic_names", "orphans", "lookups_by_day"
    )
    outages = downs.join(first.unionByName(before), list(_OUTAGE), "left")
    return _with_lookups(outages, inputs.table("lookup_hours"))


def _planned(downs: DataFrame, inputs: Inputs) -> DataFrame:
    """Decide `planned` of outages whose begin the NameServer did not see; of older ones it is known."""
    stops = downs.where("planned").select(
        fn.col("ns").alias("stop_ns"),
        fn.col("broker").alias("stop_broker"),
        fn.col("cluster").alias("stop_cluster"),
        fn.col("broker_id").alias("stop_id"),
        fn.col("addr").alias("stop_addr"),
        fn.col("from_at").alias("stop_from"),
        fn.col("to_at").alias("stop_to"),
    )
    is_same = (
        (fn.col("cluster") == fn.col("stop_cluster"))
        & (fn.col("broker") == fn.col("stop_broker"))
        & ((fn.col("broker_id") == fn.col("stop_id")) | (fn.col("addr") == fn.col("stop_addr")))
    )
    is_then = (fn.col("stop_from") <= fn.col("from_at")) & (
        fn.col("stop_to").isNull() | (fn.col("stop_to") > fn.col("from_at"))
    )
    unseen = downs.where("unseen").select(*_OUTAGE, "broker_id", "from_at")
    stopped = (
        unseen.join(stops, is_same & is_then & (fn.col("ns") != fn.col("stop_ns")))
        .select(*_OUTAGE, fn.lit(True).alias("stopped"))
        .distinct()
    )
    known = inputs.edge().select(*_OUTAGE, fn.col("planned").alias("known"))
    decided = fn.coalesce("planned", "known", "stopped", fn.lit(False))
    joined = downs.join(known, list(_OUTAGE), "left").join(stopped, list(_OUTAGE), "left")
    return joined.withColumn("planned", decided).drop("known", "stopped")


def _retired(downs: DataFrame, marks: DataFrame) -> DataFrame:
    """Add whether an operator marked the broker as decommissioned during the outage."""
    mark = marks.select(
        fn.col("cluster").alias("mark_cluster"),
        fn.col("broker").alias("mark_broker"),
        fn.col("broker_id").alias("mark_id"),
        "retired_at",
    )
    is_marked = (
        (fn.col("broker") == fn.col("mark_broker"))
        & (fn.col("mark_cluster").isNull() | (fn.col("mark_cluster") == fn.col("cluster")))
        & (fn.col("mark_id").isNull() | (fn.col("mark_id") == fn.col("broker_id")))
        & (fn.col("from_at") <= fn.col("retired_at"))
        & (fn.col("to_at").isNull() | (fn.col("to_at") > fn.col("retired_at")))
    )
    marked = downs.join(fn.broadcast(mark), is_marked).select(*_OUTAGE, fn.lit(True).alias("retired")).distinct()
    return downs.join(marked, list(_OUTAGE), "left").withColumn("retired", fn.coalesce("retired", fn.lit(False)))


def _seconds(begin: str, end: str) -> Column:
    return (fn.unix_millis(end) - fn.unix_millis(begin)) / 1000


def _served(new: DataFrame, topic_spans: DataFrame) -> DataFrame:
    """The topics that the group had at the begin of the outage."""
    spans = topic_spans.select(
        "ns",
        "broker",
        "topic",
        "perm",
        "write",
        fn.col("from_seq").alias("since_seq"),
        fn.col("to_seq").alias("until_seq"),
    )
    had = (fn.col("since_seq") < fn.col("from_seq")) & (
        fn.col("until_seq").isNull() | (fn.col("until_seq") >= fn.col("from_seq"))
    )
    is_lost = (fn.col("broker_id") == MASTER_ID) | (fn.col("until_seq") == fn.col("from_seq"))
    takes_writes = fn.col("perm").bitwiseAND(fn.lit(PERM_WRITE)) != 0
    return (
        spans.join(new, ["ns", "broker"])
        .where(had)
        .select(
            *_OUTAGE, "from_at", "topic", fn.when(is_lost & takes_writes, fn.col("write")).otherwise(0).alias("lost")
        )
    )


def _orphans(served: DataFrame, topic_spans: DataFrame) -> DataFrame:
    """The topics that no broker had afterwards."""
    affected = served.select(*_OUTAGE, "topic")
    spans = topic_spans.select(
        "ns", "topic", fn.col("from_seq").alias("since_seq"), fn.col("to_seq").alias("until_seq")
    )
    remains = (fn.col("since_seq") <= fn.col("from_seq")) & (
        fn.col("until_seq").isNull() | (fn.col("until_seq") > fn.col("from_seq"))
    )
    remaining = spans.join(affected, ["ns", "topic"]).where(remains).select(*_OUTAGE, "topic").distinct()
    return affected.join(remaining, [*_OUTAGE, "topic"], "left_anti")


def _merged(new: DataFrame, served: DataFrame, orphans: DataFrame) -> DataFrame:
    none = fn.array().cast("array<string>")
    of_served = served.groupBy(*_OUTAGE).agg(
        fn.sort_array(fn.collect_set("topic")).alias("topic_names"), fn.sum("lost").alias("write_queues_lost")
    )
    of_orphans = orphans.groupBy(*_OUTAGE).agg(fn.sort_array(fn.collect_set("topic")).alias("orphans"))
    return (
        new.select(*_OUTAGE)
        .join(of_served, list(_OUTAGE), "left")
        .join(of_orphans, list(_OUTAGE), "left")
        .select(
            *_OUTAGE,
            fn.size(fn.coalesce("topic_names", none)).alias("topics"),
            fn.size(fn.coalesce("orphans", none)).alias("topics_without_broker"),
            fn.coalesce("write_queues_lost", fn.lit(0)).cast("bigint").alias("write_queues_lost"),
            fn.coalesce("topic_names", none).alias("topic_names"),
            fn.coalesce("orphans", none).alias("orphans"),
            fn.lit(None).cast("map<date, bigint>").alias("lookups_by_day"),
        )
    )


def _with_lookups(outages: DataFrame, lookup_hours: DataFrame) -> DataFrame:
    affected = outages.select(*_OUTAGE, "from_at", "to_at", "to_seq", fn.explode("topic_names").alias("topic"))

    def is_during(minute: Column) -> Column:
        # by number, not by time: a refresh that begins after the end of an outage adds nothing to it
        is_before_the_end = fn.col("to_seq").isNull() | (minute["seq"] < fn.col("to_seq"))
        return (minute["seq"] > fn.col("from_seq")) & is_before_the_end

    lookups = fn.aggregate(
        fn.filter("minutes", is_during), fn.lit(0).cast("bigint"), lambda total, minute: total + minute["lookups"]
    )
    # the rollups of an hour are written in it or shortly after
    meets = (fn.col("hour") + fn.expr("interval 2 hours") > fn.col("from_at")) & (
        fn.col("to_at").isNull() | (fn.col("hour") <= fn.col("to_at"))
    )
    by_day = (
        lookup_hours.join(affected, ["ns", "topic"])
        .where(meets)
        .groupBy(*_OUTAGE, "day")
        .agg(fn.sum(lookups).alias("lookups"))
        .where("lookups > 0")
        .groupBy(*_OUTAGE)
        .agg(fn.map_from_entries(fn.sort_array(fn.collect_list(fn.struct("day", "lookups")))).alias("days"))
    )
    none = fn.map_from_arrays(fn.array().cast("array<date>"), fn.array().cast("array<bigint>"))
    # the days of the window are counted again
    earlier = fn.map_filter("lookups_by_day", lambda day, _count: day < fn.col("first_day"))
    days = fn.map_concat(fn.coalesce(earlier, none), fn.coalesce("days", none))
    total = fn.aggregate(fn.map_values("by_day"), fn.lit(0).cast("bigint"), lambda total, one: total + one)
    return (
        outages.join(by_day, list(_OUTAGE), "left")
        .select("*", days.alias("by_day"))
        .drop("lookups_by_day")
        .select("*", fn.col("by_day").alias("lookups_by_day"), total.alias("lookups_during"))
    )


STEP = Step(
    OUTAGE_IMPACT,
    reads=("broker_spans", "topic_spans", "lookup_hours", RETIRED.name),
    build=build,
    kinds=(),
    open_only=("lookup_hours",),
)
