"""gold.broker_availability_daily: how much of each day a broker was up, as one NameServer saw it.

Days are UTC; a session that spans midnight counts in both. What counts:

- `observed_s`: while the NameServer watched and the broker was expected to be there. Time that the NameServer was down,
  and time before a broker first came, is not observed.
- `up_s`: of that, while it was up; `down_s`: the rest; `availability` = `up_s` / `observed_s`.
- An outage that nobody wanted (`closed`, `idle`, `expired`) is down time until the broker returns, for seven days at
  most; then it counts as gone for good, and is not observed until it comes again.
- A broker that was stopped on purpose and is back within an hour was restarted: down time, of which `planned_down_s`
  tells how much. One that is not was taken out of service: it is not observed until it comes again.
- `outages` and `planned_outages` count those that began on the day, the latter also those without return.
- `mtbf_s` = `up_s` / `outages`; `mttr_s` is how long those outages lasted, on average, that ended on the day. Both are
  null where there were none.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.silver.broker_spans import RETURNED
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import BROKER_AVAILABILITY_DAILY
from routebook.lake.tables.silver import BROKER_SPANS, OBSERVED

RESTARTED_WITHIN: Final = "interval 1 hour"  # routebook.lake.build.window.LOOK_BACK is longer than this
GONE_AFTER: Final = "interval 7 days"
_BROKER: Final = ("day", "ns", "cluster", "broker", "addr")


def build(inputs: Inputs) -> DataFrame:
    """One row for each broker, NameServer and day on which it was observed."""
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
    """Spans cut at where nobody watched, and at midnight."""
    watched = observed.select(
        "ns", fn.col("from_at").alias("watched_from"), fn.coalesce("to_at", "seen_until").alias("watched_to")
    )
    until = _counts_until().alias("until")
    pieces = (
        spans.select("ns", "cluster", "broker", "addr", "state", "planned", "from_at", "first_day", until)
        .where(fn.col("until").isNotNull())
        .join(fn.broadcast(watched), "ns")
        .withColumn("begin", fn.greatest("from_at", "watched_from", fn.col("first_day").cast("timestamp")))
        .withColumn("end", fn.least("until", "watched_to"))
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


def _counts_until() -> Column:
    """Up to when a span is observed, if anybody watches; null: not at all."""
    from_at, to_at = fn.col("from_at"), fn.col("to_at")
    is_restart = (fn.col("ended") == RETURNED) & (to_at <= from_at + fn.expr(RESTARTED_WITHIN))
    return (
        fn.when(fn.col("state") == "up", fn.coalesce(to_at, fn.lit("9999-01-01").cast("timestamp")))
        .when(fn.col("planned"), fn.when(is_restart, to_at))
        .otherwise(fn.least(to_at, from_at + fn.expr(GONE_AFTER)))  # of an open one, the latter
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
