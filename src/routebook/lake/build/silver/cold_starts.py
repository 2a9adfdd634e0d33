"""Starts from empty: whatever a NameServer knew before one of them, it knows no more."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn


def cold_starts(events: DataFrame) -> DataFrame:
    """`ns`, `colds`: the cold starts among events, in order. A handful, so that each row can carry them."""
    is_cold = (fn.col("kind") == "server_started") & (
        fn.coalesce("cold", fn.lit(False)) | (fn.coalesce("recovered", fn.lit(0)) == 0)
    )
    colds = fn.sort_array(fn.collect_list(fn.struct("seq", "t"))).alias("colds")
    return events.where(is_cold).groupBy("ns").agg(colds)


def with_cold_starts(rows: DataFrame, starts: DataFrame) -> DataFrame:
    """The rows, each with the cold starts of its NameServer."""
    return rows.join(fn.broadcast(starts), "ns", "left")


def next_cold() -> Column:
    """The first cold start after `seq`: `seq` and `t` of it, or null."""
    return fn.get(fn.filter("colds", lambda cold: cold["seq"] > fn.col("seq")), 0)
