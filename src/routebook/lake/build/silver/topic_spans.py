"""silver.topic_spans: the queues and permission of one topic on one broker group at one NameServer, from when to when.

Two sorts of things happen: one topic is set or removed (a cell), or all topics of a broker change at once (an op: the
group is gone, writes are wiped, restored). Few events bring thousands of cells, so ops are laid onto events before
these are taken apart: each event learns what happened to its broker until the group was gone. Then cells are taken
apart, each lasts until the next of its topic, and is cut where an op changed its permission. All of it is
partitioned by broker, so that the maps of ten thousand topics move once.
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
    """From the spans that were open and all that happened since."""
    events = inputs.events(*_KINDS)
    groups = _groups(inputs.table("broker_spans"), events.where("kind = 'broker_down'"))
    told = _told(events).unionByName(groups).unionByName(_known(inputs.edge()))
    return _spans(_cells(with_cold_starts(told, cold_starts(events))))


# -- what happened to a broker: `cells`, or an `op`, or that a member `came` ----------------------------------------


def _told(events: DataFrame) -> DataFrame:
    is_removal = fn.col("cause") == "removal"
    changed = events.where("kind = 'topics_changed'").select(
        "ns",
        "broker",
        "seq",
        "t",
        fn.when(is_removal, "gone").alias("op"),
        fn.when(is_removal, "broker_down").otherwise(fn.col("cause")).alias("cause"),
        # what a removal removes is all that the broker has: the op says so, and holes cannot make it less
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
    """When members came, and when a group was left without any; one that is replaced leaves its topics to the next.

    A broker that was recovered and did not return is held to have been down from the start on; but it was in routes
    until its lease ended, so the event has the time.
    """
    left = downs.select("ns", "seq", fn.col("t").alias("left_at"))
    is_gone = (fn.col("members") == 0) & ~fn.col("ended_by").isin("replaced", NAMESERVER_STOPPED)
    return (
        group_changes(broker_spans)
        .where(fn.col("came") | is_gone)
        .join(fn.broadcast(left), ["ns", "seq"], "left")
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


def _known(edge: DataFrame) -> DataFrame:
    """The open spans as one event before all others, so that they meet what happened as any other cell does."""
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
    """Without `queues` the topic is gone. Cause, number and time are those of the event, filled in later."""
    null = fn.lit(None)
    parts = [null] * 4 if queues is None else [fn.get(queues, number) for number in range(4)]
    names = ("perm", "read", "write", "flag")
    shape = [part.alias(name) for part, name in zip(parts, names, strict=True)]
    rest = [null.alias(name) for name in ("cause", "seq", "t", "cluster")]
    return fn.struct(topic.alias("topic"), *shape, *rest).cast(_CELL)


def _no_cells() -> Column:
    return fn.lit(None).cast(f"array<{_CELL}>").alias("cells")


# -- cells, each with the ops that followed its event ----------------------------------------------------------------


def _cells(told: DataFrame) -> DataFrame:
    in_order = Window.partitionBy("ns", "broker").orderBy("seq")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    life = Window.partitionBy("ns", "broker", "life")
    is_gone = fn.coalesce((fn.col("op") == "gone").cast("int"), fn.lit(0))
    op = fn.when(fn.col("op").isNotNull(), fn.struct("seq", "t", "op", "cause").cast(_OP))
    lived = told.select(
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
    piece = fn.col("piece")
    return (
        followed.select("*", marks.alias("marks"))
        .select("*", fn.explode(_pieces(fn.col("marks"))).alias("piece"))
        .select(
            "ns",
            "cluster",
            "broker",
            "topic",
            piece["perm"].alias("perm"),
            "read",
            "write",
            "flag",
            piece["cause"].alias("cause"),
            piece["ended_by"].alias("ended_by"),
            piece["from_at"].alias("from_at"),
            piece["to_at"].alias("to_at"),
            piece["from_seq"].alias("from_seq"),
            piece["to_seq"].alias("to_seq"),
        )
    )


def _cuts(first: Column, ops: Column) -> Column:
    """Where the permission changed, beginning with the cell itself; a null permission is the end."""

    def cut(marks: Column, op: Column) -> Column:
        last = fn.element_at(marks, -1)
        wiped = last["perm"].bitwiseAND(fn.lit(~PERM_WRITE))
        perm = fn.when(op["op"] == "wiped", wiped).when(op["op"] == "restored", fn.lit(PERM_READ | PERM_WRITE))
        mark = fn.struct(op["seq"], op["t"], perm, op["cause"]).cast(_MARK)
        is_over = last["perm"].isNull()
        return fn.when(is_over | last["perm"].eqNullSafe(perm), marks).otherwise(fn.concat(marks, fn.array(mark)))

    return fn.aggregate(ops, fn.array(first), cut)


def _pieces(marks: Column) -> Column:
    """From each mark to the next, but for those at which nothing is."""

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


STEP = Step(TOPIC_SPANS, reads=("broker_spans",), build=build)
