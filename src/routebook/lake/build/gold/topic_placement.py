"""gold.topic_placement: placement of each topic at the end of each day (UTC), per NameServer that ran on that day."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.codes import MASTER_ID, PERM_WRITE
from routebook.lake.build.silver.groups import members
from routebook.lake.build.step import Inputs, Progress, Step
from routebook.lake.tables.gold import TOPIC_PLACEMENT


def build(inputs: Inputs) -> DataFrame:
    """Intervals of topics that were open at midnight, for each day of the window."""
    days = _days(inputs)
    placed = _at_midnight(inputs.table("topic_spans"), days)
    masters = _at_midnight(members(inputs.table("broker_spans")).where(fn.col("broker_id") == MASTER_ID), days)
    mastered = masters.select("ns", "day", "broker").distinct().select("*", fn.lit(1).alias("mastered"))
    writable = fn.when(fn.col("perm").bitwiseAND(fn.lit(PERM_WRITE)) != 0, fn.col("write")).otherwise(0)
    totals = (
        placed.join(mastered, ["ns", "day", "broker"], "left")
        .select("*", writable.alias("writable"))
        .groupBy("day", "ns", "cluster", "topic")
        .agg(
            fn.count("*").alias("brokers"),
            fn.sum("writable").alias("write_queues"),
            fn.sum("read").alias("read_queues"),
            fn.max("writable").alias("most_write"),
            fn.max("read").alias("most_read"),
            fn.max("mastered").isNull().alias("no_master"),
        )
    )
    return totals.select(
        "*",
        fn.when(fn.col("write_queues") > 0, _skew("most_write", "write_queues"))
        .otherwise(_skew("most_read", "read_queues"))
        .alias("skew"),
        (fn.col("brokers") == 1).alias("single_broker"),
    )


def _skew(most: str, total: str) -> Column:
    return fn.when(fn.col(total) > 0, fn.round(fn.col(most) * fn.col("brokers") / fn.col(total), 3))


def _days(inputs: Inputs) -> DataFrame:
    """`ns, day`: the days of the window on which the NameServer ran."""
    ends = fn.to_date(fn.coalesce("to_at", "seen_until"))
    return (
        inputs.table("observed")
        .select("*", inputs.in_window("first_day").alias("first_day"))
        .where("first_day is not null")
        .select("ns", fn.greatest(fn.to_date("from_at"), fn.col("first_day")).alias("first"), ends.alias("last"))
        .where(fn.col("first") <= fn.col("last"))
        .select("ns", fn.explode(fn.sequence("first", "last")).alias("day"))
        .distinct()
    )


def _at_midnight(spans: DataFrame, days: DataFrame) -> DataFrame:
    """The intervals, with each `day` at whose end they were open."""
    midnight = fn.col("day") + fn.expr("interval 1 day")
    is_open = (fn.col("from_at") < midnight) & (fn.col("to_at").isNull() | (fn.col("to_at") >= midnight))
    return spans.join(fn.broadcast(days), "ns").where(is_open)


STEP = Step(
    TOPIC_PLACEMENT, reads=("observed", "broker_spans", "topic_spans"), build=build, kinds=(), progress=Progress.DAY
)
