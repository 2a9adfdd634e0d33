"""gold.broker_availability_daily: availability of each broker per day, as observed by one NameServer."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.silver.broker_spans import RETURNED
from routebook.lake.build.silver.protections import protected_ms
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import BROKER_AVAILABILITY_DAILY, OUTAGE_IMPACT
from routebook.lake.tables.silver import BROKER_SPANS, OBSERVED, PROTECTIONS

REMOVED_AFTER: Final = "interval 7 days"
_BROKER: Final = ("day", "ns", "cluster", "broker", "member")
_NAMES: Final = ("addr", "broker_id")  # at the time of a row
_MS: Final = ("up", "protected", "planned_down", "unplanned_down")
_SUMS: Final = (*_MS, "outages", "planned_outages", "repairs", "repair_ms")
_FOREVER: Final = "9999-01-01"


def build(inputs: Inputs) -> DataFrame:
    """One row per broker, NameServer and observed day."""
    first_day = inputs.first_day()
    ups = inputs.table(BROKER_SPANS.name).where(fn.col("state") == "up")
    outages = inputs.table(OUTAGE_IMPACT.name).where(~fn.col("retired"))
    lengths = _lengths(_up_intervals(ups).unionByName(_down_intervals(outages)), inputs, first_day)
    counted = _beginnings(outages).unionByName(_ends(outages), allowMissingColumns=True)
    of_member = (
        lengths.unionByName(counted.where(fn.col("day") >= first_day), allowMissingColumns=True)
        .groupBy(*_BROKER)
        .agg(*(fn.max_by(name, "at").alias(name) for name in _NAMES), *(fn.sum(name).alias(name) for name in _SUMS))
    )
    # a cold start begins new members, so a broker can have two on one day
    sums = (
        of_member.groupBy("day", "ns", "cluster", "broker", *_NAMES)
        .agg(
            fn.max("member").alias("member"),
            *((fn.coalesce(fn.sum(name), fn.lit(0)) / 1000).alias(f"{name}_s") for name in _MS),
            *(fn.coalesce(fn.sum(name), fn.lit(0)).alias(name) for name in ("outages", "planned_outages")),
            (fn.try_divide(fn.sum("repair_ms"), fn.sum("repairs")) / 1000).alias("mttr_s"),
        )
        .withColumn("down_s", fn.col("planned_down_s") + fn.col("unplanned_down_s"))
        .withColumn("observed_s", fn.col("up_s") + fn.col("down_s"))
    )
    return sums.select(
        "*",
        fn.try_divide("up_s", "observed_s").alias("availability"),
        fn.try_divide(fn.col("up_s"), fn.col("up_s") + fn.col("unplanned_down_s")).alias("availability_unplanned"),
        fn.try_divide("up_s", "outages").alias("mtbf_s"),
    )


def _up_intervals(ups: DataFrame) -> DataFrame:
    until = fn.coalesce("to_at", fn.lit(_FOREVER).cast("timestamp"))
    return ups.select(
        *_BROKER[1:], "addr", "first_id", "roles", fn.lit("up").alias("state"), "from_at", until.alias("until")
    )


def _down_intervals(outages: DataFrame) -> DataFrame:
    """The parts of outages that count."""
    is_planned = fn.col("planned")
    given_up_at = fn.col("from_at") + fn.expr(REMOVED_AFTER)
    until = fn.when(is_planned, fn.when(fn.col("ended") == RETURNED, fn.col("to_at"))).otherwise(
        fn.least("to_at", given_up_at)  # least() ignores null
    )
    no_roles = fn.array().cast("array<struct<seq: bigint, at: timestamp, broker_id: bigint>>")
    return outages.select(
        *_BROKER[1:],
        "addr",
        fn.col("broker_id").alias("first_id"),
        no_roles.alias("roles"),
        fn.when(is_planned, "planned_down").otherwise("unplanned_down").alias("state"),
        "from_at",
        until.alias("until"),
    ).where("until is not null")


def _lengths(intervals: DataFrame, inputs: Inputs, first_day: Column) -> DataFrame:
    """Observed parts of the intervals, split at midnight."""
    running = (
        inputs.table(OBSERVED.name)
        .select("ns", fn.col("from_at").alias("running_from"), fn.coalesce("to_at", "seen_until").alias("running_to"))
        .join(fn.broadcast(_of_nameserver(inputs.table(PROTECTIONS.name))), "ns", "left")
    )
    pieces = (
        intervals.join(fn.broadcast(running), "ns")
        .withColumn("begin", fn.greatest("from_at", "running_from", first_day.cast("timestamp")))
        .withColumn("end", fn.least("until", "running_to"))
        .where(fn.col("begin") < fn.col("end"))
        .select("*", fn.explode(fn.sequence(fn.to_date("begin"), fn.to_date("end"))).alias("day"))
        .withColumn("begin", fn.greatest("begin", fn.col("day").cast("timestamp")))
        .withColumn("end", fn.least("end", fn.date_add("day", 1).cast("timestamp")))
        .where(fn.col("begin") < fn.col("end"))
    )
    length = fn.unix_millis("end") - fn.unix_millis("begin")
    is_up = fn.col("state") == "up"
    uncertain = fn.when(is_up, protected_ms("protections", "addr", fn.col("begin"), fn.col("end"))).otherwise(0)
    switches = fn.filter("roles", lambda role: role["at"] < fn.col("end"))
    broker_id = fn.coalesce(fn.try_element_at(switches, fn.lit(-1))["broker_id"], "first_id")
    return pieces.select("*", uncertain.alias("protected"), broker_id.alias("broker_id")).select(
        *_BROKER,
        *_NAMES,
        fn.col("begin").alias("at"),
        fn.when(is_up, length - fn.col("protected")).alias("up"),
        "protected",
        *(fn.when(fn.col("state") == name, length).alias(name) for name in ("planned_down", "unplanned_down")),
    )


def _of_nameserver(protections: DataFrame) -> DataFrame:
    """`ns, protections`: they are few, so each interval can carry them."""
    one = fn.struct("from_at", "to_at", "silent", "addrs", "returned")
    return protections.groupBy("ns").agg(fn.collect_list(one).alias("protections"))


def _beginnings(outages: DataFrame) -> DataFrame:
    return outages.withColumn("day", fn.to_date("from_at")).select(
        *_BROKER,
        *_NAMES,
        fn.col("from_at").alias("at"),
        fn.when(fn.col("planned"), 0).otherwise(1).alias("outages"),
        fn.when(fn.col("planned"), 1).otherwise(0).alias("planned_outages"),
    )


def _ends(outages: DataFrame) -> DataFrame:
    ended = outages.where(~fn.col("planned") & (fn.col("ended") == RETURNED))
    return ended.select(
        fn.to_date("to_at").alias("day"),
        *_BROKER[1:],
        *_NAMES,
        fn.col("from_at").alias("at"),
        (fn.unix_millis("to_at") - fn.unix_millis("from_at")).alias("repair_ms"),
        fn.lit(1).alias("repairs"),
    )


STEP = Step(
    BROKER_AVAILABILITY_DAILY,
    (OBSERVED.name, BROKER_SPANS.name, PROTECTIONS.name, OUTAGE_IMPACT.name),
    build,
    kinds=(),
)
