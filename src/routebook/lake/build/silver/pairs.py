"""NameServers two by two: those that ought to know the same brokers.

A lake may have journals of NameServers that have nothing to do with each other. Peers are those that have known the
same broker at the same address, or differed already.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn


def peers_of(broker_spans: DataFrame, differences: DataFrame) -> DataFrame:
    """`ns, peers`: of each NameServer the others that it is to be compared with. Those without any are not in it."""
    known = broker_spans.select("ns", "broker", "addr").distinct()
    others = known.withColumnRenamed("ns", "other")
    sharing = known.join(others, ["broker", "addr"]).where("ns <> other").select("ns", "other")
    differing = differences.select(fn.col("ns_a").alias("ns"), fn.col("ns_b").alias("other"))
    back = differing.select(fn.col("other").alias("ns"), fn.col("ns").alias("other"))
    pairs = sharing.unionByName(differing).unionByName(back)
    return pairs.groupBy("ns").agg(fn.sort_array(fn.collect_set("other")).alias("peers"))


def with_pairs(rows: DataFrame, peers: DataFrame) -> DataFrame:
    """Each row once for each pair that its NameServer is in: `ns_a`, `ns_b` and `side` instead of `ns`, in order."""
    paired = rows.join(fn.broadcast(peers), "ns").select("*", fn.explode("peers").alias("other"))
    return paired.select(
        *(column for column in rows.columns if column != "ns"),
        fn.least("ns", "other").alias("ns_a"),
        fn.greatest("ns", "other").alias("ns_b"),
        fn.when(fn.col("ns") < fn.col("other"), "a").otherwise("b").alias("side"),
    )
