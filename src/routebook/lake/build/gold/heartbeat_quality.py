"""gold.heartbeat_quality: gaps between the heartbeats of each broker per day."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.gold.histograms import bucket_floor, percentile
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import HEARTBEAT_QUALITY
from routebook.lake.tables.silver import BROKER_SPANS, PROTECTIONS

_BROKER: Final = ("day", "ns", "cluster", "broker")
_ADDRESS: Final = (*_BROKER, "addr")
_MINUTE_MS: Final = 60_000


def build(inputs: Inputs) -> DataFrame:
    """One row per broker, NameServer and day."""
    minutes = inputs.events("heartbeat_minute").select(
        fn.to_date("minute").alias("day"), "ns", "cluster", "broker", "addr", "minute", "count", "max_gap_ms", "gaps_ms"
    )
    guarded = minutes.join(fn.broadcast(_protected(inputs.table(PROTECTIONS.name))), "ns", "left")
    # a minute can have several gaps: its other columns count with the first
    is_first = fn.coalesce("pos", fn.lit(0)) == 0
    exploded = guarded.select(
        *_ADDRESS,
        "minute",
        "count",
        "max_gap_ms",
        "guarded",
        fn.posexplode_outer("gaps_ms").alias("pos", "bucket", "n"),
    ).select("*", fn.col("bucket").cast("bigint").alias("gap"))
    of_address = (
        exploded.select("*", _is_protected(bucket_floor(fn.col("gap"))).alias("is_protected"))
        .groupBy(*_ADDRESS, fn.when(~fn.col("is_protected"), fn.col("gap")).alias("gap"))
        .agg(
            fn.sum(fn.when(~fn.col("is_protected"), fn.col("n"))).alias("n"),
            fn.sum(fn.when(fn.col("is_protected"), fn.col("n")).otherwise(0)).alias("protected_gaps"),
            fn.sum(fn.when(is_first, fn.col("count"))).alias("beats"),
            fn.max(fn.when(~fn.col("is_protected"), fn.least("max_gap_ms", "gap"))).alias("most"),
            fn.max("minute").alias("last_minute"),
        )
    )
    own = ("gap", "n", "beats", "most", "protected_gaps", "last_minute")
    of_address = inputs.cache(of_address)
    ids = _ids(of_address, inputs.table(BROKER_SPANS.name))
    named = of_address.join(ids, list(_ADDRESS), "left").select(*_ADDRESS, "broker_id", *own)
    unknown = fn.when(fn.col("broker_id").isNull(), fn.col("addr"))
    sums = (
        named.groupBy(*_BROKER, "broker_id", unknown.alias("unknown"), "gap")
        .agg(
            fn.max_by("addr", fn.struct("last_minute", "addr")).alias("addr"),
            fn.max("last_minute").alias("last_minute"),
            *(fn.sum(name).alias(name) for name in ("n", "beats", "protected_gaps")),
            fn.max("most").alias("most"),
        )
        .groupBy(*_BROKER, "broker_id", "unknown")
        .agg(
            fn.max_by("addr", fn.struct("last_minute", "addr")).alias("addr"),
            fn.coalesce(fn.sum("beats"), fn.lit(0)).alias("beats"),
            fn.sum("protected_gaps").alias("protected_gaps"),
            fn.max("most").alias("most"),
            fn.array_sort(
                fn.collect_list(fn.when(fn.col("gap").isNotNull(), fn.struct(fn.col("gap").alias("bucket"), "n")))
            ).alias("entries"),
        )
    )
    greatest, entries = fn.col("most"), fn.col("entries")
    pairs = fn.transform(entries, lambda one: fn.struct(one["bucket"].cast("string"), one["n"]))
    return sums.select(
        *_BROKER,
        "addr",
        "broker_id",
        "beats",
        "protected_gaps",
        percentile(entries, 0.5, greatest=greatest).alias("gap_p50_ms"),
        percentile(entries, 0.99, greatest=greatest).alias("gap_p99_ms"),
        fn.when(fn.size(entries) > 0, greatest).alias("gap_max_ms"),
        fn.map_from_entries(pairs).alias("gaps"),
    )


def _protected(protections: DataFrame) -> DataFrame:
    """`ns, guarded`: the protections of each NameServer."""
    return protections.groupBy("ns").agg(fn.collect_list(fn.struct("from_at", "to_at")).alias("guarded"))


def _is_protected(gap_ms: Column) -> Column:
    """Whether a gap that ended in `minute` overlaps a protection."""
    ended_ms = fn.unix_millis("minute") + _MINUTE_MS
    began_ms = fn.unix_millis("minute") - gap_ms

    def overlaps(one: Column) -> Column:
        is_after = one["to_at"].isNotNull() & (fn.unix_millis(one["to_at"]) < began_ms)
        return (fn.unix_millis(one["from_at"]) <= ended_ms) & ~is_after

    return fn.coalesce(fn.exists("guarded", overlaps), fn.lit(False))


def _ids(days: DataFrame, spans: DataFrame) -> DataFrame:
    """`day, ns, cluster, broker, addr, broker_id`: the id that each address had at the end of each of these days."""
    midnight = fn.date_add("day", 1).cast("timestamp")
    switches = fn.filter("roles", lambda role: role["at"] < midnight)
    broker_id = fn.coalesce(fn.try_element_at(switches, fn.lit(-1))["broker_id"], "first_id")
    ups = spans.where(fn.col("state") == "up").select(
        *_ADDRESS[1:], "roles", "first_id", "from_seq", "from_at", "to_at"
    )
    is_then = (fn.col("from_at") < midnight) & (
        fn.col("to_at").isNull() | (fn.col("to_at") >= fn.col("day").cast("timestamp"))
    )
    return (
        days.select(*_ADDRESS)
        .distinct()
        .join(ups, list(_ADDRESS[1:]))
        .where(is_then)
        .groupBy(*_ADDRESS)
        .agg(fn.max_by(broker_id, "from_seq").alias("broker_id"))
    )


STEP = Step(HEARTBEAT_QUALITY, (BROKER_SPANS.name, PROTECTIONS.name), build, kinds=("heartbeat_minute",))
