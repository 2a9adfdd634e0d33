"""silver.lookup_hours: look-ups of a topic by the hour, and in it by the minute: what outages are laid upon."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.silver import LOOKUP_HOURS


def build(inputs: Inputs) -> DataFrame:
    """All clients together, with the number of the event that told of a minute last; unnamed topics are in no row."""
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


STEP = Step(LOOKUP_HOURS, reads=(), build=build)
