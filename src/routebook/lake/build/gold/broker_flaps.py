"""gold.broker_flaps: stretches in which a broker went and came again and again, and who is to blame.

A broker flaps if it went at least three times, unwanted, and never stayed for three minutes between two of them. The
stretch is from its first going to its last coming; one that crosses midnight (UTC) is two.

`brokers_flapping` is how many brokers flapped at this NameServer at the same time, itself included. `scope` says where
to look first:

- `broker`, if another NameServer saw the same broker flap at the same time; or if no more than two flapped here.
- `nameserver`, if three or more flapped here, and another NameServer that had this broker saw nothing of it; or, where
  no other NameServer could tell, if half of all brokers here flapped.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

from routebook.lake.build.silver.broker_spans import RETURNED
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import BROKER_FLAPS
from routebook.lake.tables.silver import BROKER_SPANS

LEAST_GOINGS: Final = 3
STEADY: Final = "interval 3 minutes"
MANY: Final = 3
_BROKER: Final = ("cluster", "broker", "addr")
_FLAP: Final = ("day", "ns", *_BROKER, "window_start")


def build(inputs: Inputs) -> DataFrame:
    """One row for each stretch."""
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
    goings = spans.where((fn.col("state") == "down") & ~fn.col("planned")).withColumn("day", fn.to_date("from_at"))
    one = Window.partitionBy("day", "ns", *_BROKER).orderBy("from_seq")
    steady = fn.expr(STEADY)
    back_at = fn.lag("to_at").over(one)
    is_new = back_at.isNull() | (fn.col("from_at") - back_at > steady)
    soon_back = (fn.col("ended") == RETURNED) & (fn.col("to_at") <= fn.col("from_at") + steady)
    return (
        goings.where(fn.col("day") >= fn.col("first_day"))
        .withColumn("is_new", is_new.cast("int"))
        .withColumn("stretch", fn.sum("is_new").over(one))
        .withColumn("soon_back", fn.coalesce(soon_back, fn.lit(False)))
        .groupBy("day", "ns", *_BROKER, "stretch")
        .agg(
            fn.min("from_at").alias("window_start"),
            fn.max(fn.when(fn.col("soon_back"), fn.col("to_at")).otherwise(fn.col("from_at"))).alias("window_end"),
            fn.count("*").alias("goings"),
            (fn.count("*") + fn.count_if("soon_back")).alias("transitions"),
            fn.min("from_seq").alias("from_seq"),
        )
        .where(fn.col("goings") >= LEAST_GOINGS)
    )


def _known(flaps: DataFrame, spans: DataFrame) -> DataFrame:
    """`known_here`: how many brokers were up here meanwhile; `seen_elsewhere`: this one was, at another NameServer."""
    up = spans.where(fn.col("state") == "up").select(
        fn.col("ns").alias("its_ns"), fn.struct(*_BROKER).alias("it"), "from_at", "to_at"
    )
    is_meanwhile = (up["from_at"] <= flaps["window_end"]) & (
        up["to_at"].isNull() | (up["to_at"] >= flaps["window_start"])
    )
    is_here, is_same = fn.col("its_ns") == fn.col("ns"), fn.col("it") == fn.struct(*_BROKER)
    return (
        up.join(fn.broadcast(flaps), is_meanwhile)
        .where(is_here | is_same)
        .groupBy(*_FLAP)
        .agg(
            fn.count_distinct(fn.when(is_here, fn.col("it"))).alias("known_here"),
            fn.max(~is_here).alias("seen_elsewhere"),
        )
    )


STEP = Step(BROKER_FLAPS, (BROKER_SPANS.name,), build)
