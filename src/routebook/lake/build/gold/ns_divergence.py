"""gold.ns_divergence: intervals in which two NameServers returned different routes."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.silver.differences import MEMBER, PROPAGATION_S, TOPIC
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import NS_DIVERGENCE


def build(inputs: Inputs) -> DataFrame:
    """The lasting differences of silver.differences; an open one lasts until the last event of either NameServer."""
    ends = inputs.table("observed").groupBy("ns").agg(fn.max("seen_until").alias("heard_until"))
    heard_a = fn.broadcast(ends.select(fn.col("ns").alias("ns_a"), fn.col("heard_until").alias("heard_a")))
    heard_b = fn.broadcast(ends.select(fn.col("ns").alias("ns_b"), fn.col("heard_until").alias("heard_b")))
    heard = fn.least("heard_a", "heard_b")
    is_long = fn.col("from_at") + fn.expr(f"interval {PROPAGATION_S} seconds") <= heard
    lasts = is_long & fn.coalesce(fn.col("settled_at") < heard, fn.lit(True))
    item = fn.col("item")
    return (
        inputs.table("differences")
        .where("comparable")
        .join(heard_a, "ns_a", "left")
        .join(heard_b, "ns_b", "left")
        .where(fn.col("to_at").isNotNull() | lasts)
        .select(
            fn.when(fn.col("kind") == TOPIC, item).alias("topic"),
            "broker",
            "ns_a",
            "ns_b",
            "difference",
            "from_at",
            "to_at",
            ((fn.unix_millis("to_at") - fn.unix_millis("from_at")) / 1000).alias("duration_s"),
            fn.when(fn.col("kind") == MEMBER, item).alias("addr"),
            fn.nullif("at_a", fn.lit("")).alias("at_a"),
            fn.nullif("at_b", fn.lit("")).alias("at_b"),
            "topics",
        )
    )


STEP = Step(NS_DIVERGENCE, reads=("observed", "differences"), build=build, kinds=())
