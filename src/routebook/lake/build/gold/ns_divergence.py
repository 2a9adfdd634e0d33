"""gold.ns_divergence: intervals in which two NameServers returned different routes.

A row is one difference that lasted longer than propagation takes (PROPAGATION_S), while both NameServers were running
and had warmed up (WARM_UP_S after a start). Time in which a NameServer was down is no divergence.

| topic | addr | difference | means |
|---|---|---|---|
| null | address | missing_a, missing_b | ns_a (or ns_b) lacks this member of the broker, which has `topics` topics |
| null | address | role | both have the member, one as master, the other as slave |
| topic | null | missing_a, missing_b | both have the broker, ns_a (or ns_b) lacks the topic on it |
| topic | null | queues, permission | both have the topic on the broker, with different queues or permission |

A broker with ten thousand topics that loses its connection to one NameServer is one row per other NameServer, not ten
thousand. `at_a` and `at_b` are the values when the difference began (null: missing). `duration_s` is null while it is
open.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.silver.differences import MEMBER, PROPAGATION_S, TOPIC
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import NS_DIVERGENCE


def build(inputs: Inputs) -> DataFrame:
    """The lasting differences of silver.differences; an open one lasts until the last event of either NameServer."""
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
