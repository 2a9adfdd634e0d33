"""gold.broker_flaps: intervals in which a broker flapped, and the likely cause."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.silver.broker_spans import RETURNED
from routebook.lake.build.silver.flap_series import RETURN_WITHIN
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import BROKER_FLAPS
from routebook.lake.tables.silver import BROKER_SPANS

MIN_OUTAGES: Final = 3
MANY: Final = 3
_BROKER: Final = ("cluster", "broker", "member")
_FLAP: Final = ("ns", *_BROKER, "from_seq")
_SHOWN: Final = ("addr", "broker_id", "window_start", "window_end", "transitions", "outages", "kind", "day")


def build(inputs: Inputs) -> DataFrame:
    """One row per interval that ended on a day of the refresh."""
    spans = inputs.table(BROKER_SPANS.name)
    flaps = inputs.cache(_flaps(spans).where(fn.col("day") >= inputs.first_day()))
    other = flaps.unionByName(inputs.kept().select(*flaps.columns))
    beside = other.select(
        fn.col("ns").alias("its_ns"),
        fn.struct(*_BROKER).alias("it"),
        *_its("cluster", "broker", "broker_id", "addr"),
        fn.col("window_start").alias("its_start"),
        fn.col("window_end").alias("its_end"),
    )
    is_together = (fn.col("its_start") <= fn.col("window_end")) & (fn.col("its_end") >= fn.col("window_start"))
    is_here = fn.col("its_ns") == fn.col("ns")
    judged = (
        flaps.join(beside, is_together & (is_here | _is_same()))
        .groupBy(*_FLAP, *_SHOWN)
        .agg(
            fn.count_distinct(fn.when(is_here, fn.col("it"))).alias("brokers_flapping"),
            fn.max(~is_here).alias("flaps_elsewhere"),
        )
        .join(_known(flaps, spans), list(_FLAP), "left")
    )
    is_many = fn.col("brokers_flapping") >= MANY
    is_half = fn.col("brokers_flapping") * 2 >= fn.col("known_here")
    is_nameserver = ~fn.col("flaps_elsewhere") & is_many & (fn.col("seen_elsewhere") | is_half)
    return judged.withColumn(
        "scope", fn.when(fn.coalesce(is_nameserver, fn.lit(False)), "nameserver").otherwise("broker")
    )


def _flaps(spans: DataFrame) -> DataFrame:
    """Series that are flapping: the last interval of a series carries all of it."""
    last = fn.struct("from_seq", "state")  # "up" is after "down"
    series = (
        spans.where(fn.col("goings") > 0)
        .groupBy("ns", *_BROKER, "series_seq")
        .agg(
            fn.max("series_at").alias("window_start"),
            fn.max("from_at").alias("window_end"),
            fn.max("goings").alias("outages"),
            fn.max("planned_goings").alias("planned"),
            fn.max("transitions").alias("transitions"),
            fn.max_by("addr", last).alias("addr"),
            fn.max_by("first_id", last).alias("broker_id"),
        )
        .where(fn.col("outages") >= MIN_OUTAGES)
    )
    kind = (
        fn.when(fn.col("planned") == 0, "flap")
        .when(fn.col("planned") == fn.col("outages"), "restart_loop")
        .otherwise("mixed")
    )
    return series.withColumnRenamed("series_seq", "from_seq").select(
        *_FLAP,
        "addr",
        "broker_id",
        "window_start",
        "window_end",
        "transitions",
        "outages",
        kind.alias("kind"),
        fn.to_date("window_end").alias("day"),
    )


def _known(flaps: DataFrame, spans: DataFrame) -> DataFrame:
    """At the end of a flap: `known_here`, the number of brokers that were up, or down for less than an hour;
    `seen_elsewhere`: whether another NameServer had this broker.
    """
    soon_back = (fn.col("ended") == RETURNED) & (fn.col("to_at") <= fn.col("from_at") + fn.expr(RETURN_WITHIN))
    there = spans.where((fn.col("state") == "up") | soon_back).select(
        fn.col("ns").alias("its_ns"),
        fn.struct(*_BROKER).alias("it"),
        *_its("cluster", "broker", "broker_id", "addr"),
        "from_at",
        "to_at",
    )
    is_then = (there["from_at"] <= flaps["window_end"]) & (
        there["to_at"].isNull() | (there["to_at"] >= flaps["window_end"])
    )
    is_here = fn.col("its_ns") == fn.col("ns")
    return (
        there.join(fn.broadcast(flaps), is_then & (is_here | _is_same()))
        .groupBy(*_FLAP)
        .agg(
            fn.count_distinct(fn.when(is_here, fn.col("it"))).alias("known_here"),
            fn.max(~is_here).alias("seen_elsewhere"),
        )
    )


def _its(*names: str) -> list[Column]:
    return [fn.col(name).alias(f"its_{name}") for name in names]


def _is_same() -> Column:
    """The same broker at any NameServer: `member` is a number of one NameServer."""
    is_group = (fn.col("its_cluster") == fn.col("cluster")) & (fn.col("its_broker") == fn.col("broker"))
    is_id, is_addr = fn.col("its_broker_id") == fn.col("broker_id"), fn.col("its_addr") == fn.col("addr")
    return is_group & (is_id | is_addr)


STEP = Step(BROKER_FLAPS, (BROKER_SPANS.name,), build, kinds=())
