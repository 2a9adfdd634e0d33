"""gold.broker_availability_daily: availability of each broker per day, as observed by one NameServer.

Days are UTC; an interval that spans midnight counts on both days.

- `observed_s`: time in which the NameServer was running and the broker was expected to be up. Time in which the
  NameServer was down, and time before the first registration of the broker, is not observed.
- `up_s`: the part of it in which the broker was up; `down_s`: the rest. `availability` = `up_s` / `observed_s`.
- An unplanned outage (`closed`, `idle`, `expired`) is down time until the broker returns, for at most seven days. After
  that the broker counts as removed and is not observed until it registers again.
- A planned stop is down time, included in `planned_down_s`, if the broker returns within an hour (a restart). Otherwise
  the broker counts as taken out of service and is not observed until it registers again.
- `outages` and `planned_outages` count those that began on the day, with or without a return.
- `mtbf_s` = `up_s` / `outages`; `mttr_s` is the mean duration of the unplanned outages that ended on the day. Both are
  null if there were none.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.silver.broker_spans import RETURNED
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import BROKER_AVAILABILITY_DAILY
from routebook.lake.tables.silver import BROKER_SPANS, OBSERVED

RESTART_WITHIN: Final = "interval 1 hour"  # must be shorter than routebook.lake.build.window.LOOK_BACK
REMOVED_AFTER: Final = "interval 7 days"
_BROKER: Final = ("day", "ns", "cluster", "broker", "addr")


def build(inputs: Inputs) -> DataFrame:
    """One row per broker, NameServer and observed day."""
    spans = inputs.table(BROKER_SPANS.name).select("*", inputs.in_window("first_day").alias("first_day"))
    spans = spans.where("first_day is not null")
    lengths = _lengths(spans, inputs.table(OBSERVED.name))
    sums = (
        lengths.unionByName(_beginnings(spans), allowMissingColumns=True)
        .unionByName(_ends(spans), allowMissingColumns=True)
        .groupBy(*_BROKER)
        .agg(
            *(_seconds(fn.sum(name)).alias(name) for name in ("observed_s", "up_s", "planned_down_s")),
            fn.coalesce(fn.sum("outage"), fn.lit(0)).alias("outages"),
            fn.coalesce(fn.sum("planned_outage"), fn.lit(0)).alias("planned_outages"),
            (fn.avg("repair_ms") / 1000).alias("mttr_s"),
        )
    )
    return sums.select(
        "*",
        fn.try_divide("up_s", "observed_s").alias("availability"),
        (fn.col("observed_s") - fn.col("up_s")).alias("down_s"),
        fn.try_divide("up_s", "outages").alias("mtbf_s"),
    )


def _lengths(spans: DataFrame, observed: DataFrame) -> DataFrame:
    """Observed parts of the intervals, split at midnight."""
    running = observed.select(
        "ns", fn.col("from_at").alias("running_from"), fn.coalesce("to_at", "seen_until").alias("running_to")
    )
    until = _observed_until().alias("until")
    pieces = (
        spans.select("ns", "cluster", "broker", "addr", "state", "planned", "from_at", "first_day", until)
        .where(fn.col("until").isNotNull())
        .join(fn.broadcast(running), "ns")
        .withColumn("begin", fn.greatest("from_at", "running_from", fn.col("first_day").cast("timestamp")))
        .withColumn("end", fn.least("until", "running_to"))
        .where(fn.col("begin") < fn.col("end"))
    )
    days = fn.explode(fn.sequence(fn.to_date("begin"), fn.to_date("end"))).alias("day")
    midnight, next_midnight = fn.col("day").cast("timestamp"), fn.date_add("day", 1).cast("timestamp")
    length = fn.unix_millis(fn.least("end", next_midnight)) - fn.unix_millis(fn.greatest("begin", midnight))
    is_up = fn.col("state") == "up"
    return (
        pieces.select("*", days)
        .select("*", length.alias("observed_s"))
        .where(fn.col("observed_s") > 0)
        .select(
            *_BROKER,
            "observed_s",
            fn.when(is_up, fn.col("observed_s")).alias("up_s"),
            fn.when(~is_up & fn.col("planned"), fn.col("observed_s")).alias("planned_down_s"),
        )
    )


def _observed_until() -> Column:
    """The end of the observed part of an interval; null: it is not observed."""
    from_at, to_at = fn.col("from_at"), fn.col("to_at")
    is_restart = (fn.col("ended") == RETURNED) & (to_at <= from_at + fn.expr(RESTART_WITHIN))
    return (
        fn.when(fn.col("state") == "up", fn.coalesce(to_at, fn.lit("9999-01-01").cast("timestamp")))
        .when(fn.col("planned"), fn.when(is_restart, to_at))
        .otherwise(fn.least(to_at, from_at + fn.expr(REMOVED_AFTER)))  # least() ignores null
    )


def _beginnings(spans: DataFrame) -> DataFrame:
    began = spans.where(fn.col("state") == "down").withColumn("day", fn.to_date("from_at"))
    return began.where(fn.col("day") >= fn.col("first_day")).select(
        *_BROKER,
        fn.when(fn.col("planned"), 0).otherwise(1).alias("outage"),
        fn.when(fn.col("planned"), 1).otherwise(0).alias("planned_outage"),
    )


def _ends(spans: DataFrame) -> DataFrame:
    is_repair = (fn.col("state") == "down") & ~fn.col("planned") & (fn.col("ended") == RETURNED)
    ended = spans.where(is_repair).withColumn("day", fn.to_date("to_at"))
    return ended.where(fn.col("day") >= fn.col("first_day")).select(
        *_BROKER, (fn.unix_millis("to_at") - fn.unix_millis("from_at")).alias("repair_ms")
    )


def _seconds(ms: Column) -> Column:
    return fn.coalesce(ms, fn.lit(0)) / 1000


STEP = Step(BROKER_AVAILABILITY_DAILY, (OBSERVED.name, BROKER_SPANS.name), build)
