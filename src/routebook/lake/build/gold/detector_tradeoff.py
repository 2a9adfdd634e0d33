"""gold.detector_tradeoff: the recommended heartbeat timeout per NameServer and cluster, from measured heartbeat gaps.

A NameServer removes a broker that sends no heartbeat for its timeout. A short timeout detects failures fast, but also
removes brokers that are only late. Both effects are computed from the gaps between heartbeats of the last 30 days,
without an assumption about their distribution:

- *False suspicions.* The histogram contains only gaps after which the broker was still registered, so every gap longer
  than a candidate would have been a false alarm. Their number is divided by the observed broker-days: 0.01 is one false
  alarm per broker in 100 days. A gap longer than the configured timeout ended as an outage and is not in the histogram,
  so candidates above that timeout appear as good as it, never better.
- *Detection time.* A broker fails at a random time, so more likely within a long gap. If it fails `a` ms after its last
  heartbeat, it is detected after `timeout - a` (at once if it is already suspected). The integral over a gap g is
  ∫₀ᵍ max(0, T - a) da = T·g - g²/2 if g ≤ T, else T²/2;  the mean is the sum over all gaps divided by the sum of all
  gaps. Half a scan interval is added: a NameServer scans every five seconds.
- *φ-accrual* is an adaptive detector: from the mean μ and deviation σ of a broker's gaps it computes the probability of
  the current silence, and suspects the broker at 10^-φ. With normally distributed gaps this is a timeout per broker,
  μ + z·σ, where z is the normal quantile of φ. `candidate` is φ, `timeout_ms` the mean over brokers. RocketMQ has no
  such detector; it is included for comparison and never recommended.

The recommendation is the shortest timeout with at most one false suspicion per broker in 100 days; if there is none,
the one with the fewest. With less than one observed broker-day it is RocketMQ's default of 120 s.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from routebook.lake.build.gold.histograms import bucket_middle
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import BROKER_AVAILABILITY_DAILY, DETECTOR_TRADEOFF, HEARTBEAT_QUALITY

TIMEOUTS_S: Final = (10, 15, 20, 30, 45, 60, 75, 90, 100, 120, 150, 180, 240, 300, 600)
PHIS: Final = {5.0: 4.2649, 8.0: 5.6120, 12.0: 7.0345}  # φ, and the normal quantile of 1 - 10^-φ
DAYS: Final = 30
MAX_SUSPICIONS: Final = 0.01  # per broker and day
DEFAULT_MS: Final = 120_000
_MIN_BROKER_DAYS: Final = 1.0
_SCAN_MS: Final = 5_000
_MIN_DEVIATION_MS: Final = 100.0  # else a delay of 1 ms would make a perfectly regular broker suspect
_CLUSTER: Final = ("ns", "cluster")
_BROKER: Final = (*_CLUSTER, "broker", "addr")


def build(inputs: Inputs) -> DataFrame:
    """One row per NameServer, cluster and candidate."""
    days = inputs.table(HEARTBEAT_QUALITY.name)
    last = days.groupBy("ns").agg(fn.max("day").alias("last_day"))
    recent = days.join(fn.broadcast(last), "ns").where(fn.col("day") > fn.date_sub("last_day", DAYS))
    up = inputs.table(BROKER_AVAILABILITY_DAILY.name).join(fn.broadcast(last), "ns")
    exposure = (
        up.where((fn.col("day") > fn.date_sub("last_day", DAYS)) & (fn.col("day") <= fn.col("last_day")))
        .groupBy(*_CLUSTER)
        .agg((fn.sum("up_s") / 86_400).alias("broker_days"))
    )
    sizes = recent.groupBy(*_CLUSTER).agg(
        fn.count_distinct("broker", "addr").alias("brokers"), fn.sum("beats").alias("beats")
    )
    outcomes = _outcomes(_gaps(recent))
    rows = outcomes.join(sizes, list(_CLUSTER)).join(exposure, list(_CLUSTER), "left")
    return _recommended(
        rows.withColumn("broker_days", fn.coalesce("broker_days", fn.lit(0.0))).withColumn(
            "false_suspicions_per_broker_day",
            fn.when(fn.col("broker_days") > 0, fn.col("suspicions") / fn.col("broker_days")).otherwise(0.0),
        )
    )


def _gaps(days: DataFrame) -> DataFrame:
    """`broker, gap, n, mean, deviation`: the gaps of each broker, each bucket at its middle."""
    gaps = (
        days.select(*_BROKER, fn.explode("gaps").alias("bucket", "n"))
        .groupBy(*_BROKER, fn.col("bucket").cast("bigint").alias("bucket"))
        .agg(fn.sum("n").cast("double").alias("n"))
        .select(*_BROKER, bucket_middle(fn.col("bucket")).cast("double").alias("gap"), "n")
    )
    own = Window.partitionBy(*_BROKER)
    total, sum_ = fn.sum("n").over(own), fn.sum(fn.col("n") * fn.col("gap")).over(own)
    squares = fn.sum(fn.col("n") * fn.col("gap") * fn.col("gap")).over(own)
    mean = sum_ / total
    return gaps.select(
        "*",
        mean.alias("mean"),
        fn.sqrt(fn.greatest(fn.lit(0.0), squares / total - mean * mean)).alias("deviation"),
    )


def _outcomes(gaps: DataFrame) -> DataFrame:
    """False suspicions and detection time of each candidate."""
    deviation = fn.greatest("deviation", fn.lit(_MIN_DEVIATION_MS))
    candidates = [_candidate("timeout", s, fn.lit(s * 1000.0)) for s in TIMEOUTS_S]
    candidates += [_candidate("phi", phi, fn.col("mean") + deviation * z) for phi, z in PHIS.items()]
    tried = gaps.select("*", fn.inline(fn.array(*candidates)))
    gap, timeout, n = fn.col("gap"), fn.col("timeout"), fn.col("n")
    waiting = fn.when(gap <= timeout, timeout * gap - gap * gap / 2).otherwise(timeout * timeout / 2)
    detection_ms = fn.try_divide(fn.sum(n * waiting), fn.sum(n * gap)) + _SCAN_MS / 2
    return tried.groupBy(*_CLUSTER, "detector", "candidate").agg(
        fn.round(fn.sum(n * timeout) / fn.sum(n)).cast("bigint").alias("timeout_ms"),
        fn.sum(fn.when(gap > timeout, n).otherwise(0.0)).alias("suspicions"),
        fn.round(fn.coalesce(detection_ms, fn.avg("timeout")) / 1000, 3).alias("mean_detection_s"),
    )


def _candidate(detector: str, candidate: float, timeout: Column) -> Column:
    return fn.struct(
        fn.lit(detector).alias("detector"), fn.lit(float(candidate)).alias("candidate"), timeout.alias("timeout")
    )


def _recommended(rows: DataFrame) -> DataFrame:
    is_settable = fn.col("detector") == "timeout"
    rate, days = fn.col("false_suspicions_per_broker_day"), fn.col("broker_days")
    is_enough, is_good = days >= _MIN_BROKER_DAYS, rate <= MAX_SUSPICIONS
    # the fastest of the good ones, else the one with the fewest false alarms
    rank = fn.row_number().over(
        Window.partitionBy(*_CLUSTER).orderBy(
            is_settable.desc(),
            fn.when(~is_enough, fn.abs(fn.col("timeout_ms") - DEFAULT_MS)).asc(),
            is_good.desc(),
            fn.when(~is_good, rate).asc(),
            fn.col("timeout_ms").asc(),
        )
    )
    alarms = fn.format_number(rate, 4)
    why = (
        fn.when(~is_enough, fn.lit("less than one broker-day was observed: RocketMQ's default"))
        .when(
            is_good,
            fn.concat(fn.lit("the shortest timeout with few false alarms: "), alarms, fn.lit(" per broker and day")),
        )
        .otherwise(
            fn.concat(fn.lit("the candidate with the fewest false alarms: "), alarms, fn.lit(" per broker and day"))
        )
    )
    why_not = (
        fn.when(~is_settable, "for comparison: RocketMQ has no such detector")
        .when(~is_good, fn.concat(fn.lit("too many false alarms: "), alarms, fn.lit(" per broker and day")))
        .otherwise("slower than the recommended timeout")
    )
    return rows.withColumn("rank", rank).select(
        "*",
        (fn.col("rank") == 1).alias("recommended"),
        fn.when(fn.col("rank") == 1, why).otherwise(why_not).alias("reason"),
    )


STEP = Step(DETECTOR_TRADEOFF, (HEARTBEAT_QUALITY.name, BROKER_AVAILABILITY_DAILY.name), build)
