"""The identity of a broker over time: which earlier sessions and outages an event continues.

A broker is its cluster, name and id. The address belongs to a session: a broker that returns under another address is
the same broker. A role switch gives a registered broker another id, so an id alone does not identify a broker for ever;
`member` does: the number of its first event at this NameServer. An event belongs to

1. the registered member with its address (for a registration without one: the registered member with its id), or else
2. the member that is gone and had, in this order of preference, the same id and address, the same id, the same address,
   or an id that another member has taken over since; among equals, the one that went last, or else
3. a new member.

A `broker_down` matches by address only.
"""

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

_GROUP: Final = ("ns", "epoch", "next_epoch", "epoch_end", "cluster", "broker")
_STATE: Final = "struct<member: bigint, broker_id: bigint, addr: string, is_up: boolean, since: bigint>"
_FOLD: Final = f"struct<state: array<{_STATE}>, members: array<bigint>>"
_BEST: Final = "struct<rank: int, since: bigint, member: bigint>"


def with_members(events: DataFrame) -> DataFrame:
    """Broker events with `member`; rows that have one already (open intervals) keep it.

    Reads `kind`, `seq`, `broker_id`, `addr`, `is_switch`, `member`, and `last_id`: the id that an open interval has
    now.
    """
    rest = [column for column in events.columns if column not in _GROUP and column != "seq"]
    ordered = events.groupBy(*_GROUP).agg(fn.sort_array(fn.collect_list(fn.struct("seq", *rest))).alias("events"))
    none = fn.struct(fn.array(), fn.array()).cast(_FOLD)
    found = fn.aggregate("events", none, _take, lambda fold: fold["members"])
    folded = ordered.select(*_GROUP, "events", found.alias("members"))
    zipped = folded.select(*_GROUP, fn.explode(fn.arrays_zip("events", "members")).alias("one"))
    kept = [fn.col(f"one.events.{name}").alias(name) for name in ("seq", *rest) if name != "member"]
    return zipped.select(*_GROUP, *kept, fn.col("one.members").alias("member"))


def _take(fold: Column, event: Column) -> Column:
    """The members after one event, and the member of the event."""
    state = fold["state"]
    member = _member_of(event, state)

    def applied(found: Column) -> Column:
        others = fn.filter(state, lambda one: one["member"] != found)
        before = fn.get(fn.filter(state, lambda one: one["member"] == found), 0)
        return fn.struct(
            fn.concat(others, fn.array(_after(event, before, found))),
            fn.concat(fold["members"], fn.array(found)),
        ).cast(_FOLD)

    # transform over one element evaluates `member` once
    return fn.get(fn.transform(fn.array(member), applied), 0)


def _member_of(event: Column, state: Column) -> Column:
    here = _first(state, lambda one: one["is_up"] & (one["addr"] == event["addr"]))
    same_id = _first(state, lambda one: one["is_up"] & (one["broker_id"] == event["broker_id"]))
    already_gone = _last_gone(state, lambda one: fn.when(one["addr"] == event["addr"], 1))

    def rank(one: Column) -> Column:
        is_id, is_addr = one["broker_id"] == event["broker_id"], one["addr"] == event["addr"]
        is_taken = fn.exists(state, lambda other: other["is_up"] & (other["broker_id"] == one["broker_id"]))
        return fn.when(is_id & is_addr, 4).when(is_id, 3).when(is_addr, 2).when(is_taken, 1)

    is_down, is_up = event["kind"] == "broker_down", event["kind"] == "broker_up"
    return (
        fn.when(event["member"].isNotNull(), event["member"])
        .when(is_down, fn.coalesce(here, already_gone, event["seq"]))
        .otherwise(fn.coalesce(here, fn.when(is_up, same_id), _last_gone(state, rank), event["seq"]))
    )


def _first(state: Column, test: Callable[[Column], Column]) -> Column:
    return fn.get(fn.filter(state, test), 0)["member"]


def _last_gone(state: Column, rank: Callable[[Column], Column]) -> Column:
    """The gone member with the highest rank, and of these the one that went last."""
    ranked = fn.transform(
        fn.filter(state, lambda one: ~one["is_up"]),
        lambda one: fn.struct(rank(one), one["since"], one["member"]).cast(_BEST),
    )
    return fn.array_max(fn.filter(ranked, lambda one: one["rank"].isNotNull()))["member"]


def _after(event: Column, before: Column, member: Column) -> Column:
    """The state of a member after the event; a repeated `broker_down` changes nothing."""
    is_down = event["kind"] == "broker_down"
    keeps_id = before["is_up"] & (before["addr"] == event["addr"]) & (event["kind"] != "broker_up")
    keeps_id = keeps_id & ~event["is_switch"] & ~is_down
    broker_id = fn.when(keeps_id, before["broker_id"]).otherwise(event["last_id"])
    after = fn.struct(member, broker_id, event["addr"], ~is_down, event["seq"]).cast(_STATE)
    return fn.when(is_down & before.isNotNull() & ~before["is_up"], before).otherwise(after)
