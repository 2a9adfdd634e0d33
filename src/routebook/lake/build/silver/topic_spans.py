"""silver.topic_spans: intervals with constant queues and permission of one topic on one broker group at one NameServer.

An event either sets or removes single topics (cells), or changes all topics of a broker (an op: the group is gone,
write permission is wiped or restored). A few events have thousands of cells, so ops are attached to events before
cells are exploded: each event carries the later ops of its broker until the group is gone. Then each cell lasts until
the next one of its topic, split where an op changed its permission. Everything is partitioned by broker, so the maps
of thousands of topics are shuffled once.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.lake.build.silver.broker_spans import NAMESERVER_STOPPED
from routebook.lake.build.silver.cold_starts import cold_starts, next_cold, with_cold_starts
from routebook.lake.build.silver.groups import group_changes
from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.silver import TOPIC_SPANS

_CELL = (
    "struct<topic: string, perm: int, read: int, write: int, flag: int, "
    "cause: string, seq: bigint, t: timestamp, cluster: string>"
)
_OP = "struct<seq: bigint, t: timestamp, op: string, cause: string>"
_MARK = "struct<seq: bigint, t: timestamp, perm: int, cause: string>"
_KINDS = ("topics_changed", "topic_deleted", "permission_wiped", "permission_restored", "broker_down", "server_started")


def build(inputs: Inputs) -> DataFrame:
    """Intervals from the open ones and the events since."""
    events = inputs.events(*_KINDS)
    groups = _groups(inputs.table("broker_spans"), events.where("kind = 'broker_down'"))
    changes = _changes(events).unionByName(groups).unionByName(_from_edge(inputs.edge()))
    return _spans(_cells(with_cold_starts(changes, cold_starts(events))))


# -- changes of a broker: `cells`, an `op`, or a member that `came` -------------------------------------------------


def _changes(events: DataFrame) -> DataFrame:
    is_removal = fn.col("cause") == "removal"
    changed = events.where("kind = 'topics_changed'").select(
        "ns",
        "broker",
        "seq",
        "t",
        fn.when(is_removal, "gone").alias("op"),
        fn.when(is_removal, "broker_down").otherwise(fn.col("cause")).alias("cause"),
        # a removal removes all topics of the broker; as an op it does so even after a gap in the journal
        fn.when(~is_removal, _changed_cells()).alias("cells"),
    )
    deleted = events.where("kind = 'topic_deleted'").select(
        "ns",
        fn.explode("brokers").alias("broker"),
        "seq",
        "t",
        fn.lit(None).cast("string").alias("op"),
        fn.lit("topic_deleted").alias("cause"),
        fn.array(_cell(fn.col("topic"), None)).alias("cells"),
    )
    switched = events.where(fn.col("kind").startswith("permission_")).select(
        "ns",
        "broker",
        "seq",
        "t",
        fn.substring_index("kind", "_", -1).alias("op"),
        fn.col("kind").alias("cause"),
        _no_cells(),
    )
    rows = changed.unionByName(deleted).unionByName(switched)
    return rows.select("*", fn.lit(None).cast("string").alias("cluster"), fn.lit(False).alias("came"))


def _groups(broker_spans: DataFrame, downs: DataFrame) -> DataFrame:
    """When members came, and when a group lost its last member. A replaced member passes its topics to the next one.

    broker_spans counts a recovered broker that did not return as down from the start; but it was in routes until its
    lease ended, so the time of the event is used.
    """
    left = downs.select("ns", "seq", fn.col("t").alias("left_at"))
    is_gone = (fn.col("members") == 0) & ~fn.col("ended_by").isin("replaced", NAMESERVER_STOPPED)
    return (
        group_changes(broker_spans)
        .where(fn.col("came") | is_gone)
        .join(left, ["ns", "seq"], "left")
        .select(
            "ns",
            "broker",
            "seq",
            fn.coalesce("left_at", "t").alias("t"),
            fn.when(is_gone, "gone").alias("op"),
            fn.lit("broker_down").alias("cause"),
            _no_cells(),
            "cluster",
            "came",
        )
    )


def _from_edge(edge: DataFrame) -> DataFrame:
    """The open intervals as cells of an event before all others."""
    cell = fn.struct(
        "topic",
        "perm",
        "read",
        "write",
        "flag",
        "cause",
        fn.col("from_seq").alias("seq"),
        fn.col("from_at").alias("t"),
        "cluster",
    )
    cells = fn.collect_list(cell.cast(_CELL)).alias("cells")
    return (
        edge.groupBy("ns", "broker")
        .agg(cells)
        .select(
            "ns",
            "broker",
            fn.lit(-1).cast("bigint").alias("seq"),
            fn.lit(None).cast("timestamp").alias("t"),
            fn.lit(None).cast("string").alias("op"),
            fn.lit(None).cast("string").alias("cause"),
            "cells",
            fn.lit(None).cast("string").alias("cluster"),
            fn.lit(False).alias("came"),
        )
    )


def _changed_cells() -> Column:
    added = fn.transform(fn.map_entries("added"), lambda entry: _cell(entry["key"], entry["value"]))
    changed = fn.transform(fn.map_entries("changed"), lambda entry: _cell(entry["key"], fn.get(entry["value"], 1)))
    removed = fn.transform("removed", lambda topic: _cell(topic, None))
    none = fn.array().cast(f"array<{_CELL}>")
    return fn.concat(fn.coalesce(added, none), fn.coalesce(changed, none), fn.coalesce(removed, none))


def _cell(topic: Column, queues: Column | None) -> Column:
    """A cell; without `queues` the topic is removed. Cause, number and time of the event are filled in later."""
    null = fn.lit(None)
    parts = [null] * 4 if queues is None else [fn.get(queues, number) for number in range(4)]
    names = ("perm", "read", "write", "flag")
    shape = [part.alias(name) for part, name in zip(parts, names, strict=True)]
    rest = [null.alias(name) for name in ("cause", "seq", "t", "cluster")]
    return fn.struct(topic.alias("topic"), *shape, *rest).cast(_CELL)


def _no_cells() -> Column:
    return fn.lit(None).cast(f"array<{_CELL}>").alias("cells")


# -- cells, each with the later ops of its broker --------------------------------------------------------------------


def _cells(changes: DataFrame) -> DataFrame:
    in_order = Window.partitionBy("ns", "broker").orderBy("seq")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    life = Window.partitionBy("ns", "broker", "life")
    is_gone = fn.coalesce((fn.col("op") == "gone").cast("int"), fn.lit(0))
    op = fn.when(fn.col("op").isNotNull(), fn.struct("seq", "t", "op", "cause").cast(_OP))
    lived = changes.select(
        "*",
        fn.coalesce(fn.sum(is_gone).over(before), fn.lit(0)).alias("life"),
        fn.last("cluster", ignorenulls=True).over(so_far).alias("in_cluster"),
        fn.last(fn.when(fn.col("came"), fn.col("t")), ignorenulls=True).over(so_far).alias("came_at"),
    ).select("*", fn.sort_array(fn.collect_list(op).over(life)).alias("all_ops"))
    cold = next_cold()
    later = fn.filter("all_ops", lambda one: one["seq"] > fn.col("seq"))
    then_cold = fn.filter(later, lambda one: one["seq"] < cold["seq"])
    cold_op = fn.struct(cold["seq"], cold["t"], fn.lit("gone"), fn.lit("cold_start")).cast(_OP)
    own_cause = fn.when((fn.col("came_at") == fn.col("t")) & (fn.col("cause") == "registration"), "broker_up")
    return (
        lived.where("cells is not null")
        .select(
            "ns",
            "broker",
            fn.col("in_cluster").alias("cluster"),
            "seq",
            "t",
            fn.coalesce(own_cause, "cause").alias("cause"),
            fn.when(cold.isNull(), later).otherwise(fn.concat(then_cold, fn.array(cold_op))).alias("ops"),
            fn.explode("cells").alias("cell"),
        )
        .select(
            "ns",
            "broker",
            fn.coalesce("cell.cluster", "cluster").alias("cluster"),
            "cell.topic",
            "cell.perm",
            "cell.read",
            "cell.write",
            "cell.flag",
            fn.coalesce("cell.cause", "cause").alias("cause"),
            fn.coalesce("cell.seq", "seq").alias("seq"),
            fn.coalesce("cell.t", "t").alias("t"),
            "ops",
        )
    )


def _spans(cells: DataFrame) -> DataFrame:
    following = Window.partitionBy("ns", "broker", "topic").orderBy("seq")
    followed = cells.select(
        "*",
        fn.lead("seq").over(following).alias("next_seq"),
        fn.lead("t").over(following).alias("next_t"),
        fn.lead("cause").over(following).alias("next_cause"),
    ).where("perm is not null")
    next_seq = fn.col("next_seq")
    ops = fn.filter("ops", lambda one: next_seq.isNull() | (one["seq"] < next_seq))
    first = fn.struct("seq", "t", "perm", "cause").cast(_MARK)
    end = fn.struct(next_seq, "next_t", fn.lit(None), "next_cause").cast(_MARK)
    marks = fn.when(fn.size(ops) == 0, fn.array(first, end)).otherwise(fn.concat(_cuts(first, ops), fn.array(end)))
    return followed.select("*", marks.alias("marks")).select(
        "ns", "cluster", "broker", "topic", "read", "write", "flag", fn.inline(_pieces(fn.col("marks")))
    )


def _cuts(first: Column, ops: Column) -> Column:
    """The changes of the permission, beginning with the cell itself; a null permission is the end."""

    def cut(marks: Column, op: Column) -> Column:
        last = fn.element_at(marks, -1)
        wiped = last["perm"].bitwiseAND(fn.lit(~PERM_WRITE))
        perm = fn.when(op["op"] == "wiped", wiped).when(op["op"] == "restored", fn.lit(PERM_READ | PERM_WRITE))
        mark = fn.struct(op["seq"], op["t"], perm, op["cause"]).cast(_MARK)
        is_over = last["perm"].isNull()
        return fn.when(is_over | last["perm"].eqNullSafe(perm), marks).otherwise(fn.concat(marks, fn.array(mark)))

    return fn.aggregate(ops, fn.array(first), cut)


def _pieces(marks: Column) -> Column:
    """Intervals from each mark to the next, without those that have no permission."""

    def piece(mark: Column, number: Column) -> Column:
        end = fn.get(marks, number + 1)
        return fn.struct(
            mark["perm"].alias("perm"),
            mark["cause"].alias("cause"),
            end["cause"].alias("ended_by"),
            mark["t"].alias("from_at"),
            end["t"].alias("to_at"),
            mark["seq"].alias("from_seq"),
            end["seq"].alias("to_seq"),
        )

    return fn.filter(fn.transform(marks, piece), lambda one: one["perm"].isNotNull())


STEP = Step(TOPIC_SPANS, reads=("broker_spans",), build=build, kinds=_KINDS)
