"""silver.observed: each start of a NameServer, and from when to when it watched.

What happens to a broker while nobody watches is not known, so it is nobody's outage. A start's row ends for good
(`to_seq`) with the first event of the next start; a stop in order and the time of it are known before that.
`seen_until` is when the start was last heard of: by its stop, or by its last event. After a crash that is all that is
known of its end.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

from routebook.lake.build.event_time import is_rollup
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.silver import OBSERVED

_PARTS = ("from_seq", "from_at", "seen_until", "recovered", "cold", "before_at")


def build(inputs: Inputs) -> DataFrame:
    """One row for each start of a NameServer."""
    starts = _fresh(inputs).unionByName(_before(inputs))
    merged = starts.groupBy("ns", "boot").agg(
        fn.min("from_seq").alias("from_seq"),
        fn.min_by("from_at", "from_seq").alias("first_at"),
        fn.max("seen_until").alias("heard_until"),
        fn.max("recovered").alias("recovered"),
        fn.max("cold").alias("cold"),
        fn.max("before_at").alias("known_before_at"),
        fn.max("last_seq").alias("last_seq"),
        fn.max("last_t").alias("last_t"),
        fn.max("stop_seq").alias("stop_seq"),
        fn.max("stop_at").alias("stop_at"),
    )
    order = Window.partitionBy("ns").orderBy("from_seq")
    in_order = merged.withColumn(
        # a first event that is a rollup tells of the minute before
        "from_at",
        fn.greatest("first_at", fn.lag("last_t").over(order)),
    )
    in_order = in_order.withColumn("to_seq", fn.lead("from_seq").over(order)).withColumn(
        "seen_until",
        fn.coalesce(
            "stop_at", fn.greatest("from_at", "last_t", fn.least("heard_until", fn.lead("from_at").over(order)))
        ),
    )
    return (
        in_order.withColumn("before_at", fn.coalesce(fn.lag("seen_until").over(order), "known_before_at"))
        .withColumn(
            "ended",
            fn.when(fn.col("stop_seq").isNotNull(), "stopped").when(fn.col("to_seq").isNotNull(), "crashed"),
        )
        .withColumn("to_at", fn.when(fn.col("ended").isNotNull(), fn.col("seen_until")))
    )


def _fresh(inputs: Inputs) -> DataFrame:
    started, stopped = fn.col("kind") == "server_started", fn.col("kind") == "server_stopped"
    return (
        inputs.events()
        .groupBy("ns", "boot")
        .agg(
            fn.min("seq").alias("from_seq"),
            fn.min_by("t", "seq").alias("from_at"),
            fn.max("at").alias("seen_until"),
            fn.max(fn.when(started, fn.coalesce("recovered", fn.lit(0)))).alias("recovered"),
            fn.max(fn.when(started, fn.coalesce("cold", fn.lit(False)))).alias("cold"),
            fn.max("seq").alias("last_seq"),
            fn.max(fn.when(~is_rollup(), fn.col("t"))).alias("last_t"),
            fn.max(fn.when(stopped, fn.col("seq"))).alias("stop_seq"),
            fn.max(fn.when(stopped, fn.col("t"))).alias("stop_at"),
        )
        .withColumn("before_at", fn.lit(None).cast("timestamp"))
    )


def _before(inputs: Inputs) -> DataFrame:
    """What was known already; a stop that is read again tells of itself."""
    edge = inputs.edge().select("*", inputs.in_window("from_seq").alias("redone"))
    stays = fn.col("stop_seq") < fn.col("redone")
    return edge.select(
        "ns",
        "boot",
        *_PARTS,
        "last_seq",
        "last_t",
        fn.when(stays, fn.col("stop_seq")).alias("stop_seq"),
        fn.when(stays, fn.col("stop_at")).alias("stop_at"),
    )


STEP = Step(OBSERVED, (), build)
