"""Log-bucket histograms as Columns: what routebook.rollup says about buckets and percentiles, for Spark.

A bucket is named by the greatest value that falls into it. `entries` are `(bucket, n)` in the order of their buckets.
"""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as fn

_SHARE_BITS: Final = 5  # routebook.rollup: a bucket keeps so many leading bits of a value


def bucket_floor(bucket: Column) -> Column:
    """The least value of a bucket."""
    shift = (fn.length(fn.bin(bucket)) - _SHARE_BITS).cast("int")
    cut = fn.call_function("shiftleft", fn.call_function("shiftright", bucket, shift), shift)
    return fn.when(shift > 0, cut).otherwise(bucket)


def bucket_middle(bucket: Column) -> Column:
    """The value that stands for all of a bucket: wrong by 1/32 at most."""
    return fn.floor((bucket_floor(bucket) + bucket) / 2).cast("bigint")


def percentile(entries: Column, share: float, *, greatest: Column) -> Column:
    """About the value that `share` (0 to 1) of all values do not exceed; null if there are none."""
    total = fn.aggregate(entries, fn.lit(0).cast("bigint"), lambda sum_, entry: sum_ + entry["n"])
    rank = fn.greatest(fn.lit(1), fn.ceil(fn.lit(share) * total))
    none = fn.lit(None).cast("bigint")
    # goes through the entries until so many values have been passed
    found = fn.aggregate(
        entries,
        fn.struct(rank.cast("bigint").alias("left"), none.alias("bucket")),
        lambda state, entry: fn.struct(
            (state["left"] - entry["n"]).alias("left"),
            fn.when(state["bucket"].isNotNull(), state["bucket"])
            .when(state["left"] <= entry["n"], entry["bucket"])
            .alias("bucket"),
        ),
        lambda state: state["bucket"],
    )
    return fn.when(found.isNotNull(), fn.least(bucket_middle(found), greatest))
