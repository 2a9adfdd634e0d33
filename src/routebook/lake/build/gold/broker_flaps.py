"""gold.broker_flaps: intervals in which a broker flapped, and the likely cause.

A broker flaps if it went down at least three times, unplanned, and was never up for more than three minutes in between.
The interval lasts from the first `broker_down` to the last return; midnight (UTC) splits it in two.

`brokers_flapping` is the number of brokers, including this one, that flapped at this NameServer at the same time.
`scope` is the likely cause:

- `broker`: another NameServer saw the same broker flap at the same time, or at most two brokers flapped here.
- `nameserver`: three or more brokers flapped here, and another NameServer that had this broker did not see it flap; or,
  if no other NameServer had it, at least half of the brokers here flapped.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

from routebook.lake.build.silver.broker_spans import RETURNED
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import BROKER_FLAPS
from routebook.lake.tables.silver import BROKER_SPANS

MIN_OUTAGES: Final = 3
STEADY: Final = "interval 3 minutes"
MANY: Final = 3
_BROKER: Final = ("cluster", "broker", "addr")
_FLAP: Final = ("day", "ns", *_BROKER, "window_start")


def build(inputs: Inputs) -> DataFrame:
    """One row per interval."""
    spans = inputs.table(BROKER_SPANS.name)
    flaps = inputs.cache(_flaps(spans.select("*", inputs.first_day().alias("first_day"))))
    beside = flaps.select(
        "day",
        fn.col("ns").alias("its_ns"),
        fn.struct(*_BROKER).alias("it"),
        fn.col("window_start").alias("its_start"),
        fn.col("window_end").alias("its_end"),
    )
    is_together = (fn.col("its_start") <= fn.col("window_end")) & (fn.col("its_end") >= fn.col("window_start"))
    is_here, is_same = fn.col("its_ns") == fn.col("ns"), fn.col("it") == fn.struct(*_BROKER)
    judged = (
        flaps.join(beside, "day", "left")
        .where(is_together)
        .groupBy(*_FLAP, "window_end", "transitions", "from_seq")
        .agg(
            fn.count_distinct(fn.when(is_here, fn.col("it"))).alias("brokers_flapping"),
            fn.max(~is_here & is_same).alias("flaps_elsewhere"),
        )
        .join(_known(flaps, spans), list(_FLAP), "left")
    )
    is_many = fn.col("brokers_flapping") >= MANY
    is_half = fn.col("brokers_flapping") * 2 >= fn.col("known_here")
    is_nameserver = ~fn.col("flaps_elsewhere") & is_many & (fn.col("seen_elsewhere") | is_half)
    return judged.withColumn("scope", fn.when(is_nameserver, "nameserver").otherwise("broker"))


def _flaps(spans: DataFrame) -> DataFrame:
    outages = spans.where((fn.col("state") == "down") & ~fn.col("planned")).withColumn("day", fn.to_date("from_at"))
    one = Window.partitionBy("day", "ns", *_BROKER).orderBy("from_seq")
    steady = fn.expr(STEADY)
    back_at = fn.lag("to_at").over(one)
    is_new = back_at.isNull() | (fn.col("from_at") - back_at > steady)
    soon_back = (fn.col("ended") == RETURNED) & (fn.col("to_at") <= fn.col("from_at") + steady)
    return (
        outages.where(fn.col("day") >= fn.col("first_day"))
        .withColumn("is_new", is_new.cast("int"))
        .withColumn("series", fn.sum("is_new").over(one))
        .withColumn("soon_back", fn.coalesce(soon_back, fn.lit(False)))
        .groupBy("day", "ns", *_BROKER, "series")
        .agg(
            fn.min("from_at").alias("window_start"),
            fn.max(fn.when(fn.col("soon_back"), fn.col("to_at")).otherwise(fn.col("from_at"))).alias("window_end"),
            fn.count("*").alias("outages"),
            (fn.count("*") + fn.count_if("soon_back")).alias("transitions"),
            fn.min("from_seq").alias("from_seq"),
        )
        .where(fn.col("outages") >= MIN_OUTAGES)
    )


def _known(flaps: DataFrame, spans: DataFrame) -> DataFrame:
    """`known_here`: the number of brokers up here in the interval; `seen_elsewhere`: another NameServer had this
    broker.
    """
    up = spans.where(fn.col("state") == "up").select(
        fn.col("ns").alias("its_ns"), fn.struct(*_BROKER).alias("it"), "from_at", "to_at"
    )
    overlaps = (up["from_at"] <= flaps["window_end"]) & (up["to_at"].isNull() | (up["to_at"] >= flaps["window_start"]))
    is_here, is_same = fn.col("its_ns") == fn.col("ns"), fn.col("it") == fn.struct(*_BROKER)
    return (
        up.join(fn.broadcast(flaps), overlaps)
        .where(is_here | is_same)
        .groupBy(*_FLAP)
        .agg(
            fn.count_distinct(fn.when(is_here, fn.col("it"))).alias("known_here"),
            fn.max(~is_here).alias("seen_elsewhere"),
        )
    )


STEP = Step(BROKER_FLAPS, (BROKER_SPANS.name,), build)
