"""gold.ns_divergence: from when to when two NameServers told clients different things.

A row is one thing that one of a pair knew otherwise for longer than propagation explains (PROPAGATION_S), while both
watched and had settled (WARM_UP_S after a start): time that a NameServer was down is no divergence.

| topic | addr | difference | means |
|---|---|---|---|
| null | address | missing_a, missing_b | ns_a (or ns_b) lacks this member of the broker, which has `topics` |
| null | address | role | both have the member, one as master, the other as slave |
| topic | null | missing_a, missing_b | both have the broker, one lacks the topic on it |
| topic | null | queues, permission | both have the topic on the broker, with other queues or another permission |

So a broker with ten thousand topics that is cut from one NameServer is one row for each other NameServer, not ten
thousand. `at_a` and `at_b` tell what each had when it began, null: nothing. `duration_s` is null while it lasts.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.silver.differences import MEMBER, PROPAGATION_S, TOPIC
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import NS_DIVERGENCE


def build(inputs: Inputs) -> DataFrame:
    """Of silver.differences those that lasted; an open one lasts as long as both NameServers have been heard of."""
    heard = inputs.table("observed").groupBy("ns").agg(fn.max("seen_until").alias("heard_until"))
    heard_a = fn.broadcast(heard.select(fn.col("ns").alias("ns_a"), fn.col("heard_until").alias("heard_a")))
    heard_b = fn.broadcast(heard.select(fn.col("ns").alias("ns_b"), fn.col("heard_until").alias("heard_b")))
    lasts = fn.col("from_at") + fn.expr(f"interval {PROPAGATION_S} seconds") <= fn.least("heard_a", "heard_b")
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


STEP = Step(NS_DIVERGENCE, reads=("observed", "differences"), build=build)
