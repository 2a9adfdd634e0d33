"""gold.heartbeat_quality: gaps between the heartbeats of each broker per day.

A gap is the time between two heartbeats of a broker that stayed registered; the time from its removal to its return is
an outage, not a gap. `gaps` is the histogram of the day, with the buckets of routebook.rollup.
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.gold.histograms import percentile
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import HEARTBEAT_QUALITY

_BROKER: Final = ("day", "ns", "cluster", "broker", "addr")


def build(inputs: Inputs) -> DataFrame:
    """One row per broker, NameServer and day."""
    minutes = inputs.events("heartbeat_minute").select(
        fn.to_date("minute").alias("day"), "ns", "cluster", "broker", "addr", "count", "max_gap_ms", "gaps_ms"
    )
    # a minute can have several gaps: its other columns count with the first
    is_first = fn.coalesce("pos", fn.lit(0)) == 0
    sums = (
        minutes.select(*_BROKER, "count", "max_gap_ms", fn.posexplode_outer("gaps_ms").alias("pos", "bucket", "n"))
        .groupBy(*_BROKER, "bucket")
        .agg(
            fn.sum("n").alias("n"),
            fn.sum(fn.when(is_first, fn.col("count"))).alias("beats"),
            fn.max(fn.coalesce("max_gap_ms", fn.lit(0))).alias("most"),
        )
        .groupBy(*_BROKER)
        .agg(
            fn.sum("beats").alias("beats"),
            fn.max("most").alias("most"),
            fn.array_sort(
                fn.collect_list(
                    fn.when(
                        fn.col("bucket").isNotNull(), fn.struct(fn.col("bucket").cast("bigint").alias("bucket"), "n")
                    )
                )
            ).alias("entries"),
        )
    )
    greatest = fn.col("most")
    entries = fn.col("entries")
    return sums.select(
        *_BROKER,
        "beats",
        percentile(entries, 0.5, greatest=greatest).alias("gap_p50_ms"),
        percentile(entries, 0.99, greatest=greatest).alias("gap_p99_ms"),
        fn.when(fn.size(entries) > 0, greatest).alias("gap_max_ms"),
        fn.map_from_entries(fn.transform(entries, lambda one: fn.struct(one["bucket"].cast("string"), one["n"]))).alias(
            "gaps"
        ),
    )


STEP = Step(HEARTBEAT_QUALITY, (), build)
