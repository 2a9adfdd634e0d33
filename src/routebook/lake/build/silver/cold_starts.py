"""Cold starts: starts of a NameServer with empty tables, which end all earlier state."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn


def cold_starts(events: DataFrame) -> DataFrame:
    """`ns`, `colds`: the cold starts of each NameServer, in order. They are few, so each row can carry them."""
    is_cold = (fn.col("kind") == "server_started") & (
        fn.coalesce("cold", fn.lit(False)) | (fn.coalesce("recovered", fn.lit(0)) == 0)
    )
    colds = fn.sort_array(fn.collect_list(fn.struct("seq", "t"))).alias("colds")
    return events.where(is_cold).groupBy("ns").agg(colds)


def with_cold_starts(rows: DataFrame, starts: DataFrame) -> DataFrame:
    """The rows with the cold starts of their NameServer."""
    return rows.join(fn.broadcast(starts), "ns", "left")


def next_cold() -> Column:
    """`seq` and `t` of the first cold start after `seq`; null if there is none."""
    return fn.get(fn.filter("colds", lambda cold: cold["seq"] > fn.col("seq")), 0)
