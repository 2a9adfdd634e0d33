"""Members of broker groups over time, and the number of members and masters after each change."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from routebook.codes import MASTER_ID

_SOME_SLAVE = 1


def members(broker_spans: DataFrame) -> DataFrame:
    """Intervals in which an address had one broker id: up intervals, split at role switches.

    `ns, cluster, broker, addr, broker_id, cause, ended_by, from_at, to_at, from_seq, to_seq`. For the id before the
    first switch, only whether it was the master's is known.
    """
    first_switch = fn.get("roles", 0)["broker_id"]
    id_before = fn.when(first_switch == MASTER_ID, _SOME_SLAVE).otherwise(MASTER_ID)
    began = fn.struct(
        fn.col("from_seq").alias("seq"),
        fn.col("from_at").alias("at"),
        fn.when(first_switch.isNull(), fn.col("broker_id")).otherwise(id_before).alias("broker_id"),
    )
    ended = fn.struct(fn.col("to_seq").alias("seq"), fn.col("to_at").alias("at"), fn.lit(None).alias("broker_id"))
    marks = fn.concat(fn.array(began), fn.col("roles"), fn.array(ended))

    def piece(number: Column) -> Column:
        mark, end = fn.get("marks", number), fn.get("marks", number + 1)
        is_last = number == fn.size("marks") - 2
        return fn.struct(
            mark["broker_id"].alias("broker_id"),
            fn.when(number > 0, "role").otherwise(fn.lit("broker_up")).alias("cause"),
            fn.when(is_last, fn.col("ended")).otherwise(fn.lit("role")).alias("ended_by"),
            mark["at"].alias("from_at"),
            end["at"].alias("to_at"),
            mark["seq"].alias("from_seq"),
            end["seq"].alias("to_seq"),
        )

    pieces = fn.transform(fn.sequence(fn.lit(0), fn.size("marks") - 2), piece)
    return (
        broker_spans.where("state = 'up'")
        .select("ns", "cluster", "broker", "addr", "ended", marks.alias("marks"))
        .select("ns", "cluster", "broker", "addr", fn.inline(pieces))
    )


def group_changes(broker_spans: DataFrame) -> DataFrame:
    """A group after each event: `ns, broker, seq, t, members, masters, cluster, came, ended_by`.

    `came`: the event added a member. `ended_by`: the reason why it removed one. A change of the id is neither.
    """
    is_master = (fn.col("broker_id") == MASTER_ID).cast("int")
    spans = members(broker_spans)
    begun = spans.select(
        "ns",
        "broker",
        fn.col("from_seq").alias("seq"),
        fn.col("from_at").alias("t"),
        fn.lit(1).alias("more"),
        is_master.alias("masters_more"),
        "cluster",
        fn.lit(None).cast("string").alias("ended_by"),
    )
    ended = spans.where("to_seq is not null").select(
        "ns",
        "broker",
        fn.col("to_seq").alias("seq"),
        fn.col("to_at").alias("t"),
        fn.lit(-1).alias("more"),
        (-is_master).alias("masters_more"),
        fn.lit(None).cast("string").alias("cluster"),
        "ended_by",
    )
    so_far = Window.partitionBy("ns", "broker").orderBy("seq").rowsBetween(Window.unboundedPreceding, 0)
    return (
        begun.unionByName(ended)
        .groupBy("ns", "broker", "seq")
        .agg(
            fn.min("t").alias("t"),
            fn.sum("more").alias("more"),
            fn.sum("masters_more").alias("masters_more"),
            fn.max("cluster").alias("cluster"),
            fn.max("ended_by").alias("ended_by"),
        )
        .select(
            "ns",
            "broker",
            "seq",
            "t",
            fn.sum("more").over(so_far).alias("members"),
            fn.sum("masters_more").over(so_far).alias("masters"),
            fn.last("cluster", ignorenulls=True).over(so_far).alias("cluster"),
            (fn.col("more") > 0).alias("came"),
            "ended_by",
        )
    )
