"""Series of goings: how often a broker went down in quick succession, carried from interval to interval.

A going is the begin of a down interval that is not `replaced`. It continues the series of the going before if the
broker had returned within RETURN_WITHIN and was up for at most STEADY. Every interval carries the series so far, so
that a refresh continues a series without reading its earlier intervals. gold/broker_flaps.py says which series are
flapping.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

STEADY: Final = "interval 3 minutes"
RETURN_WITHIN: Final = "interval 1 hour"
_COLUMNS: Final = ("series_seq", "series_at", "goings", "planned_goings", "transitions")


def with_series(spans: DataFrame, *, member: tuple[str, ...]) -> DataFrame:
    """Intervals in order of `number`, with the columns of their series; `seed` has those of a known first interval."""
    order = Window.partitionBy(*member).orderBy("number")
    is_down = fn.col("state") == "down"
    is_going = is_down & (fn.col("began") != "replaced")
    before = fn.lag(fn.struct("state", "from_at", "to_at", "began")).over(order)
    lasted = before["to_at"] - before["from_at"]
    is_long = fn.when(before["state"] == "up", lasted > fn.expr(STEADY)).otherwise(lasted > fn.expr(RETURN_WITHIN))
    is_break = fn.coalesce(is_long, fn.lit(False)) & fn.col("seed").isNull()
    is_return = fn.coalesce(
        (before["state"] == "down") & (before["began"] != "replaced") & ~is_break & fn.col("seed").isNull(),
        fn.lit(False),
    )
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    parts = spans.select(
        "*",
        (is_going & fn.col("seed").isNull()).cast("int").alias("is_going"),
        is_return.cast("int").alias("is_return"),
        fn.sum(is_break.cast("int")).over(so_far).alias("part"),
    )
    within = Window.partitionBy(*member, "part").orderBy("number").rowsBetween(Window.unboundedPreceding, 0)
    seed = fn.first("seed", ignorenulls=True).over(within)
    begun = fn.first(fn.when(fn.col("is_going") == 1, fn.struct("from_seq", "from_at")), ignorenulls=True).over(within)
    goings = fn.sum("is_going").over(within)
    planned = fn.sum(fn.when((fn.col("is_going") == 1) & fn.col("planned"), 1).otherwise(0)).over(within)
    base = fn.coalesce(seed["goings"], fn.lit(0))
    counted = parts.select(
        "*",
        fn.when(base > 0, seed["series_seq"]).otherwise(begun["from_seq"]).alias("series_seq"),
        fn.when(base > 0, seed["series_at"]).otherwise(begun["from_at"]).alias("series_at"),
        (base + goings).cast("int").alias("goings"),
        (fn.coalesce(seed["planned_goings"], fn.lit(0)) + planned).cast("int").alias("planned_goings"),
        fn.coalesce(seed["transitions"], fn.lit(0)).alias("seed_transitions"),
        (fn.col("is_going") + fn.col("is_return")).alias("transition"),
    )
    return counted.select(
        "*", (fn.col("seed_transitions") + fn.sum("transition").over(within)).cast("int").alias("transitions")
    ).drop("is_going", "is_return", "part", "seed_transitions", "transition", "seed")
