"""gold.route_timeline: every version of a topic's route at a NameServer, with its validity interval.

A topic on many flapping brokers has thousands of versions with many brokers each. To keep the cost proportional to the
output, versions are processed in chunks: an interval of a broker goes to the chunks that it overlaps, and each version
selects from the intervals of its chunk.
"""

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from routebook.codes import PERM_WRITE
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import ROUTE_TIMELINE

_CHUNK: Final = 64
_PART = "struct<broker: string, perm: int, read: int, write: int>"


def build(inputs: Inputs) -> DataFrame:
    """The open versions, and a new one wherever an interval of the topic begins or ends in the window."""
    spans = inputs.table("topic_spans").select("*", inputs.in_window("from_seq").alias("window_seq"))
    spans = spans.where("window_seq is not null")
    return _versions(_changes(_of_changed_topics(spans)), inputs.edge())


def _of_changed_topics(spans: DataFrame) -> DataFrame:
    """All intervals of the topics that changed in the window."""
    in_window = (fn.col("from_seq") >= fn.col("window_seq")) | fn.col("to_seq").isNotNull()
    changed = spans.where(in_window).select("ns", "topic").distinct()
    return spans.join(changed, ["ns", "topic"], "left_semi")


def _changes(spans: DataFrame) -> DataFrame:
    """`ns, topic, seq, t, cause, parts`: the route after each event that changed it."""
    part = fn.struct("broker", "perm", "read", "write").cast(_PART)
    common = ("ns", "topic", "broker", "window_seq")
    begun = spans.select(
        *common,
        fn.col("from_seq").alias("seq"),
        fn.col("from_at").alias("t"),
        "cause",
        fn.lit(1).alias("is_begin"),
        fn.struct("from_seq", "to_seq", part.alias("part")).alias("span"),
    )
    ended = spans.where("to_seq is not null").select(
        *common,
        fn.col("to_seq").alias("seq"),
        fn.col("to_at").alias("t"),
        fn.col("ended_by").alias("cause"),
        fn.lit(0).alias("is_begin"),
        fn.lit(None).cast(begun.schema["span"].dataType).alias("span"),
    )
    by_event = Window.partitionBy("ns", "topic").orderBy("seq")
    of_broker = Window.partitionBy("ns", "topic", "broker").orderBy("seq", "is_begin")
    of_topic = Window.partitionBy("ns", "topic")
    placed = (
        begun.unionByName(ended)
        # one shuffle for all following windows
        .repartition("ns", "topic")
        .select("*", fn.floor((fn.dense_rank().over(by_event) - 1) / _CHUNK).alias("chunk"))
        # the end of an interval is the next row of its broker
        .select("*", fn.lead("chunk").over(of_broker).alias("end_chunk"), fn.max("chunk").over(of_topic).alias("last"))
    )
    spread = fn.sequence("chunk", fn.coalesce("end_chunk", "last"))
    in_chunk = placed.select(
        "*", fn.explode(fn.when(fn.col("is_begin") == 1, spread).otherwise(fn.array("chunk"))).alias("in_chunk")
    )
    chunk = Window.partitionBy("ns", "topic", "in_chunk")
    same_event = Window.partitionBy("ns", "topic", "in_chunk", "seq").orderBy(fn.desc("is_begin"), "broker")
    seq = fn.col("seq")
    alive = fn.filter("all", lambda one: (one["from_seq"] <= seq) & (one["to_seq"].isNull() | (one["to_seq"] > seq)))
    return (
        in_chunk.select("*", fn.collect_list("span").over(chunk).alias("all"))
        .where((fn.col("in_chunk") == fn.col("chunk")) & (seq >= fn.col("window_seq")))
        .select("*", fn.row_number().over(same_event).alias("nth"))
        .where("nth = 1")
        .select(
            "ns",
            "topic",
            "seq",
            "t",
            "cause",
            fn.sort_array(fn.transform(alive, lambda one: one["part"])).alias("parts"),
        )
    )


def _versions(changes: DataFrame, edge: DataFrame) -> DataFrame:
    parts = fn.col("parts")
    names = fn.transform(parts, lambda one: one["broker"])
    made = changes.select(
        "ns",
        "topic",
        fn.lit(None).cast("bigint").alias("version"),
        fn.col("t").alias("valid_from"),
        names.alias("brokers"),
        fn.size(parts).alias("broker_count"),
        _total(parts, lambda one: one["read"]).alias("read_queues"),
        _total(parts, _writable).alias("write_queues"),
        fn.map_from_arrays(names, fn.transform(parts, lambda one: one["perm"])).alias("perms"),
        "cause",
        fn.col("seq").alias("from_seq"),
    )
    versions = made.unionByName(edge.drop("valid_to", "to_seq"))
    of_topic = Window.partitionBy("ns", "topic")
    following = of_topic.orderBy("from_seq")
    ended = versions.select(
        *(column for column in versions.columns if column != "version"),
        fn.lead("valid_from").over(following).alias("valid_to"),
        fn.lead("from_seq").over(following).alias("to_seq"),
        (fn.coalesce(fn.max("version").over(of_topic), fn.lit(1)) - 1).alias("earlier"),
    )
    # a version of zero length was never served; the next version gets its number
    return ended.where("valid_to is null or valid_to > valid_from").select(
        "*", (fn.col("earlier") + fn.row_number().over(following)).alias("version")
    )


def _writable(part: Column) -> Column:
    """The number of writable queues."""
    return fn.when(part["perm"].bitwiseAND(fn.lit(PERM_WRITE)) != 0, part["write"]).otherwise(0)


def _total(parts: Column, of: Callable[[Column], Column]) -> Column:
    return fn.aggregate(fn.transform(parts, of), fn.lit(0), lambda total, one: total + one)


STEP = Step(ROUTE_TIMELINE, reads=("topic_spans",), build=build, kinds=())
