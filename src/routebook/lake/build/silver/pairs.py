"""Pairs of NameServers that serve the same brokers.

A lake can contain journals of unrelated NameServers. Peers are those that had the same broker at the same address, or
have a difference already.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn


def peers_of(broker_spans: DataFrame, differences: DataFrame) -> DataFrame:
    """`ns, peers`: the NameServers to compare each NameServer with. NameServers without peers are absent."""
    known = broker_spans.select("ns", "broker", "addr").distinct()
    others = known.withColumnRenamed("ns", "other")
    sharing = known.join(others, ["broker", "addr"]).where("ns <> other").select("ns", "other")
    differing = differences.select(fn.col("ns_a").alias("ns"), fn.col("ns_b").alias("other"))
    back = differing.select(fn.col("other").alias("ns"), fn.col("ns").alias("other"))
    pairs = sharing.unionByName(differing).unionByName(back)
    return pairs.groupBy("ns").agg(fn.sort_array(fn.collect_set("other")).alias("peers"))


def with_pairs(rows: DataFrame, peers: DataFrame) -> DataFrame:
    """Each row once per pair of its NameServer, with `ns_a`, `ns_b` (in order) and `side` instead of `ns`."""
    paired = rows.join(fn.broadcast(peers), "ns").select("*", fn.explode("peers").alias("other"))
    return paired.select(
        *(column for column in rows.columns if column != "ns"),
        fn.least("ns", "other").alias("ns_a"),
        fn.greatest("ns", "other").alias("ns_b"),
        fn.when(fn.col("ns") < fn.col("other"), "a").otherwise("b").alias("side"),
    )
