"""gold.broker_sessions: intervals in which a broker was registered at a NameServer."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import BROKER_SESSIONS
from routebook.lake.tables.silver import BROKER_SPANS


def build(inputs: Inputs) -> DataFrame:
    """One row per up interval."""
    spans = inputs.table(BROKER_SPANS.name).where(fn.col("state") == "up")
    lasted_ms = fn.unix_millis("to_at") - fn.unix_millis("from_at")
    return spans.select(
        "ns",
        "cluster",
        "broker",
        "broker_id",
        "addr",
        fn.col("from_at").alias("started_at"),
        fn.col("to_at").alias("ended_at"),
        fn.col("ended").alias("end_reason"),
        "planned",
        (lasted_ms / 1000).alias("duration_s"),
        "began",
        fn.size("roles").alias("role_switches"),
        "from_seq",
        "to_seq",
        "last_seen_at",
        "member",
    )


STEP = Step(BROKER_SESSIONS, (BROKER_SPANS.name,), build, kinds=())
