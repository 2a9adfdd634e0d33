"""gold.lookup_demand: route look-ups per hour, topic and client."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import LOOKUP_DEMAND


def build(inputs: Inputs) -> DataFrame:
    """Sums of the minutes of each hour."""
    return (
        inputs.events("lookup_minute")
        .groupBy(
            fn.date_trunc("hour", "minute").alias("hour"),
            "ns",
            # omitted fields have their default value
            fn.coalesce("topic", fn.lit("")).alias("topic"),
            fn.coalesce("client", fn.lit("")).alias("client"),
            fn.coalesce("language", fn.lit("")).alias("language"),
            fn.coalesce("client_version", fn.lit(0)).alias("version"),
            fn.coalesce("others", fn.lit(False)).alias("others"),
        )
        .agg(
            fn.sum("count").alias("lookups"),
            fn.sum(fn.coalesce("misses", fn.lit(0))).alias("misses"),
            fn.sum(fn.coalesce("bytes", fn.lit(0))).alias("bytes"),
        )
        .select("*", fn.to_date("hour").alias("day"))
    )


STEP = Step(LOOKUP_DEMAND, reads=(), build=build, kinds=("lookup_minute",))
