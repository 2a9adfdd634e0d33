"""gold.detector_tradeoff: the recommended heartbeat timeout per NameServer and cluster, from heartbeat gaps.

All sums are of whole numbers, so that they do not depend on the order of rows: a backfill gives the same figures.
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
_WHOLE: Final = "decimal(38, 0)"
_CLUSTER: Final = ("ns", "cluster")
_BROKER: Final = (*_CLUSTER, "broker", "identity")


def build(inputs: Inputs) -> DataFrame:
    """One row per NameServer, cluster and candidate."""
    identity = fn.coalesce(fn.col("broker_id").cast("string"), "addr")
    days = inputs.table(HEARTBEAT_QUALITY.name).withColumn("identity", identity)
    last = days.groupBy("ns").agg(fn.max("day").alias("last_day"))
    recent = days.join(fn.broadcast(last), "ns").where(fn.col("day") > fn.date_sub("last_day", DAYS))
    up = inputs.table(BROKER_AVAILABILITY_DAILY.name).join(fn.broadcast(last), "ns")
    exposure = (
        up.where((fn.col("day") > fn.date_sub("last_day", DAYS)) & (fn.col("day") <= fn.col("last_day")))
        .groupBy(*_CLUSTER)
        .agg((fn.sum(fn.round(fn.col("up_s") * 1000).cast("bigint")) / 86_400_000).alias("broker_days"))
    )
    sizes = recent.groupBy(*_CLUSTER).agg(
        fn.count_distinct("broker", "identity").alias("brokers"), fn.sum("beats").alias("beats")
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
        .agg(fn.sum("n").cast(_WHOLE).alias("n"))
        .select(*_BROKER, bucket_middle(fn.col("bucket")).cast(_WHOLE).alias("gap"), "n")
    )
    own = Window.partitionBy(*_BROKER)
    total, sum_ = (_total(one).over(own) for one in (fn.col("n"), fn.col("n") * fn.col("gap")))
    squares = _total(fn.col("n") * fn.col("gap") * fn.col("gap")).over(own)
    mean = sum_.cast("double") / total.cast("double")
    return gaps.select(
        "*",
        mean.alias("mean"),
        fn.sqrt(fn.greatest(fn.lit(0.0), squares.cast("double") / total.cast("double") - mean * mean)).alias(
            "deviation"
        ),
    )


def _outcomes(gaps: DataFrame) -> DataFrame:
    """False suspicions and detection time of each candidate."""
    deviation = fn.greatest("deviation", fn.lit(_MIN_DEVIATION_MS))
    candidates = [_candidate("timeout", s, fn.lit(s * 1000)) for s in TIMEOUTS_S]
    candidates += [_candidate("phi", phi, fn.col("mean") + deviation * z) for phi, z in PHIS.items()]
    tried = gaps.select("*", fn.inline(fn.array(*candidates)))
    gap, timeout, n = fn.col("gap"), fn.col("timeout"), fn.col("n")
    twice_waiting = fn.when(gap <= timeout, timeout * gap * 2 - gap * gap).otherwise(timeout * timeout)
    detection_ms = fn.try_divide(_sum(n * twice_waiting), _sum(n * gap) * 2) + _SCAN_MS / 2
    return tried.groupBy(*_CLUSTER, "detector", "candidate").agg(
        fn.round(_sum(n * timeout) / _sum(n)).cast("bigint").alias("timeout_ms"),
        _sum(fn.when(gap > timeout, n).otherwise(0)).alias("suspicions"),
        fn.round(fn.coalesce(detection_ms, _sum(timeout) / fn.count("*")) / 1000, 3).alias("mean_detection_s"),
    )


def _total(values: Column) -> Column:
    return fn.sum(values.cast(_WHOLE))


def _sum(values: Column) -> Column:
    return _total(values).cast("double")


def _candidate(detector: str, candidate: float, timeout: Column) -> Column:
    return fn.struct(
        fn.lit(detector).alias("detector"),
        fn.lit(float(candidate)).alias("candidate"),
        fn.round(timeout).cast(_WHOLE).alias("timeout"),
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


STEP = Step(DETECTOR_TRADEOFF, (HEARTBEAT_QUALITY.name, BROKER_AVAILABILITY_DAILY.name), build, kinds=())
