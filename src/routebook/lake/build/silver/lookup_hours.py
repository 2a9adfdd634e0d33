"""silver.lookup_hours: look-ups per topic and hour with counts per minute, from which outage_impact is computed."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.silver import LOOKUP_HOURS


def build(inputs: Inputs) -> DataFrame:
    """Sums over all clients, with the number of the last event of each minute. Rollups without a topic are excluded."""
    hour = fn.date_trunc("hour", "minute")
    by_minute = (
        inputs.events("lookup_minute")
        .where("topic is not null")
        .groupBy("ns", hour.alias("hour"), "topic", "minute")
        .agg(fn.sum("count").alias("lookups"), fn.max("seq").alias("seq"))
    )
    minute = fn.minute("minute").alias("minute")
    return (
        by_minute.groupBy("ns", "hour", "topic")
        .agg(fn.sort_array(fn.collect_list(fn.struct("seq", minute, "lookups"))).alias("minutes"))
        .select("*", fn.to_date("hour").alias("day"))
    )


STEP = Step(LOOKUP_HOURS, reads=(), build=build, kinds=("lookup_minute",))
