"""gold.detector_tradeoff: which heartbeat timeout to set, by NameServer and cluster, from what brokers really did.

A NameServer takes a broker for dead that has not been heard of for its timeout. A short one finds the dead soon, and
takes living ones for dead that were only late. Both sides are computed from the gaps between heartbeats of the last 30
days, with no assumption about how they are distributed:

- *False suspicions.* A gap is in the histogram only if the broker was heard of again without having left, so every gap
  longer than a candidate would have been a false alarm. They are counted and divided by the broker-days observed up:
  0.01 is one false alarm in 100 days for each broker. A gap longer than the timeout that was set ended as an outage,
  and is not among them; so candidates above it look as good as it, never better.
- *Time to detect.* A broker dies at any time, so more likely within a long gap than within a short one. Having died
  `a` ms after its last heartbeat, it is found after `timeout - a` (at once if it was under suspicion anyway). The mean
  over all moments of a gap g is  ∫₀ᵍ max(0, T - a) da = T·g - g²/2 if g ≤ T, else T²/2;  summed over all gaps, by the
  sum of all gaps. To this comes half a scan, which a NameServer makes every five seconds.
- *φ-accrual* is a detector that learns: from mean μ and deviation σ of a broker's own gaps it computes how unlikely the
  present silence is, and suspects it at a likelihood of 10^-φ. With normally distributed gaps that is a timeout of its
  own for each broker, μ + z·σ, with z the normal quantile of φ. `candidate` is φ, `timeout_ms` the mean over brokers.
  RocketMQ has none to switch on, so it is there to compare with and never recommended.

Recommended is the timeout that detects soonest of those with at most one false suspicion per broker in 100 days; if
none is as good, the one with the fewest. Where less than a broker-day was observed, it is RocketMQ's own 120 s.
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
TOLERATED: Final = 0.01  # false suspicions of a broker a day
DEFAULT_MS: Final = 120_000
_LEAST_BROKER_DAYS: Final = 1.0
_SCAN_MS: Final = 5_000
_LEAST_DEVIATION_MS: Final = 100.0  # or a perfectly regular broker would be suspected for a millisecond
_CLUSTER: Final = ("ns", "cluster")
_BROKER: Final = (*_CLUSTER, "broker", "addr")


def build(inputs: Inputs) -> DataFrame:
    """One row for each NameServer, cluster and candidate."""
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
    return _judged(
        rows.withColumn("broker_days", fn.coalesce("broker_days", fn.lit(0.0))).withColumn(
            "false_suspicions_per_broker_day",
            fn.when(fn.col("broker_days") > 0, fn.col("suspicions") / fn.col("broker_days")).otherwise(0.0),
        )
    )


def _gaps(days: DataFrame) -> DataFrame:
    """`broker, gap, n, mean, deviation`: each broker's gaps, the middle of a bucket for all in it."""
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
    """What would have come of each candidate."""
    deviation = fn.greatest("deviation", fn.lit(_LEAST_DEVIATION_MS))
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


def _judged(rows: DataFrame) -> DataFrame:
    is_settable = fn.col("detector") == "timeout"
    rate, days = fn.col("false_suspicions_per_broker_day"), fn.col("broker_days")
    is_enough, is_good = days >= _LEAST_BROKER_DAYS, rate <= TOLERATED
    # of the good ones the fastest, else the one with the fewest false alarms, and of those the fastest
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
        fn.when(~is_enough, fn.lit("less than a day of one broker was observed: the default stays"))
        .when(
            is_good,
            fn.concat(
                fn.lit("finds the dead soonest of those with few false alarms: "), alarms, fn.lit(" a broker-day")
            ),
        )
        .otherwise(
            fn.concat(
                fn.lit("every candidate gives false alarms, this one the fewest: "), alarms, fn.lit(" a broker-day")
            )
        )
    )
    why_not = (
        fn.when(~is_settable, "to compare with: RocketMQ has no such detector")
        .when(~is_good, fn.concat(fn.lit("too many false alarms: "), alarms, fn.lit(" a broker-day")))
        .otherwise("slower than the one that is recommended")
    )
    return rows.withColumn("rank", rank).select(
        "*",
        (fn.col("rank") == 1).alias("recommended"),
        fn.when(fn.col("rank") == 1, why).otherwise(why_not).alias("reason"),
    )


STEP = Step(DETECTOR_TRADEOFF, (HEARTBEAT_QUALITY.name, BROKER_AVAILABILITY_DAILY.name), build)
