"""silver.protections: intervals in which mass-expiry protection kept silent brokers in the routes."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.silver import PROTECTIONS

_ENTERED: Final = "preservation_entered"
_LEFT: Final = "preservation_left"
_KINDS: Final = (_ENTERED, _LEFT, "server_started", "broker_returned")
_RETURNED: Final = "array<struct<seq: bigint, at: timestamp, addr: string>>"


def build(inputs: Inputs) -> DataFrame:
    """One row per protection."""
    no_returns = fn.array().cast(_RETURNED)
    returned = fn.array(fn.struct("seq", fn.col("t").alias("at"), "addr")).cast(_RETURNED)
    is_return = fn.col("kind") == "broker_returned"
    events = inputs.events(*_KINDS).select(
        "ns",
        "seq",
        "t",
        "kind",
        "reason",
        "silent",
        "known",
        "addrs",
        fn.when(is_return, returned).otherwise(no_returns).alias("returned"),
    )
    edge = inputs.edge().select("*", inputs.in_window("from_seq").alias("redone"))
    known = edge.select(
        "ns",
        fn.col("from_seq").alias("seq"),
        fn.col("from_at").alias("t"),
        fn.lit(_ENTERED).alias("kind"),
        fn.lit(None).cast("string").alias("reason"),
        "silent",
        "known",
        "addrs",
        fn.expr("filter(returned, one -> one.seq < redone)").alias("returned"),
    )
    return _intervals(events.unionByName(known))


def _intervals(events: DataFrame) -> DataFrame:
    order = Window.partitionBy("ns").orderBy("seq")
    is_begin, is_return = fn.col("kind") == _ENTERED, fn.col("kind") == "broker_returned"
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = events.select("*", fn.count(fn.when(~is_return, 1)).over(so_far).alias("number"))
    parts = numbered.groupBy("ns", "number").agg(
        *(fn.min_by(name, "seq").alias(name) for name in ("kind", "t", "reason", "silent", "known", "addrs")),
        fn.min("seq").alias("seq"),
        fn.array_sort(fn.flatten(fn.collect_list("returned"))).alias("returned"),
    )
    following = Window.partitionBy("ns").orderBy("number")
    after = fn.lead(fn.struct("seq", "t", "kind", "reason")).over(following)
    ended = fn.when(fn.col("after.kind") == _LEFT, fn.col("after.reason")).when(
        fn.col("after").isNotNull(), fn.col("after.kind")
    )
    return (
        parts.select("*", after.alias("after"))
        .where(is_begin)
        .select(
            "ns",
            fn.col("t").alias("from_at"),
            fn.col("after.t").alias("to_at"),
            fn.col("seq").alias("from_seq"),
            fn.col("after.seq").alias("to_seq"),
            ended.alias("ended"),
            "silent",
            "known",
            fn.coalesce("addrs", fn.array().cast("array<string>")).alias("addrs"),
            "returned",
        )
    )


def protected_ms(protections: str, addr: str, begin: Column, end: Column) -> Column:
    """How long, between two times, the broker at an address was silent and protected.

    `protections` is a column with the protections of its NameServer, which do not overlap.
    """

    def length(one: Column) -> Column:
        is_silent = (fn.size(one["addrs"]) < one["silent"]) | fn.array_contains(one["addrs"], fn.col(addr))
        mine = fn.filter(one["returned"], lambda back: back["addr"] == fn.col(addr))
        until = fn.least(end, one["to_at"], fn.get(mine, 0)["at"])
        ms = fn.unix_millis(until) - fn.unix_millis(fn.greatest(begin, one["from_at"]))
        return fn.when(is_silent, fn.greatest(ms, fn.lit(0))).otherwise(0)

    none = fn.lit(0).cast("bigint")
    return fn.coalesce(fn.aggregate(protections, none, lambda total, one: total + length(one)), none)


STEP = Step(PROTECTIONS, (), build, kinds=_KINDS, open_only=_KINDS[1:])
