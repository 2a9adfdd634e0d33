"""Log-bucket histograms as Spark Columns, equivalent to routebook.rollup.

A bucket is identified by its greatest value. `entries` are `(bucket, n)`, sorted by bucket.
"""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as fn

_SHARE_BITS: Final = 5  # routebook.rollup: the number of leading bits that a bucket keeps


def bucket_floor(bucket: Column) -> Column:
    """The smallest value of a bucket."""
    shift = (fn.length(fn.bin(bucket)) - _SHARE_BITS).cast("int")
    cut = fn.call_function("shiftleft", fn.call_function("shiftright", bucket, shift), shift)
    return fn.when(shift > 0, cut).otherwise(bucket)


def bucket_middle(bucket: Column) -> Column:
    """The representative value of a bucket; its error is at most 1/32."""
    return fn.floor((bucket_floor(bucket) + bucket) / 2).cast("bigint")


def percentile(entries: Column, share: float, *, greatest: Column) -> Column:
    """The approximate percentile for `share` (0 to 1); null without values."""
    total = fn.aggregate(entries, fn.lit(0).cast("bigint"), lambda sum_, entry: sum_ + entry["n"])
    rank = fn.greatest(fn.lit(1), fn.ceil(fn.lit(share) * total))
    none = fn.lit(None).cast("bigint")
    # walks the entries until `rank` values are counted
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
