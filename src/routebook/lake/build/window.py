"""Where a refresh begins: for each NameServer with new events, at the moment of the last event before them.

What happens in one moment is one change, so a moment is made whole or not at all: tables do not have what was so for no
time, and could not tell a refresh that began in the midst of it what had been so there.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.silver.timing import is_rollup

LOOK_BACK: Final = timedelta(minutes=70)
"""So far back, at most, does a new event change what daily tables say of the time before it.

A broker that was stopped is found to have been restarted when it is back within an hour; one that was known from
before a restart is seen minutes after it. Whatever dates back further must raise this.
"""


_SPELLED_OUT: Final = 8  # NameServers; beyond, a condition for each would cost more than files that are passed over


class Window(NamedTuple):
    """All of `ns` from `from_seq` on is redone."""

    ns: str
    from_seq: int
    from_us: int  # µs since the epoch: no event in it but rollups has an earlier `t`
    first_day: date  # UTC: what daily tables redo

    @property
    def from_t(self) -> Column:
        """As a timestamp."""
        return fn.timestamp_micros(fn.lit(self.from_us))


class _Known(NamedTuple):
    """What `silver.observed` knows of the time before a window."""

    last_us: int | None  # of events before it, as far as whole starts of the server are before it
    seen_us: int | None
    cut_from: int | None  # a start of the server that the window cuts: its first number


def find_windows(new: DataFrame, *, observed: DataFrame, events: DataFrame) -> list[Window]:
    """The windows that the bronze rows `new` open.

    `observed` is silver.observed as it was before, `events` all of bronze. For a full build `new` is all events and
    `observed` is empty; for a backfill `new` is the events of its days, though they are in the tables already.
    """
    firsts = (
        new.groupBy("ns")
        .agg(
            fn.min("seq").alias("from_seq"),
            fn.unix_micros(fn.min("at")).alias("at_us"),
            fn.unix_micros(fn.min(fn.least("at", "minute"))).alias("least_us"),
        )
        .orderBy("ns")
        .collect()
    )
    starts = {row.ns: row.from_seq for row in firsts}
    known = _known(observed, starts)
    cut_us = _last_of_cut(events, starts, known)
    whole_us = {ns: before.last_us for ns, before in known.items() if before.last_us is not None}
    last_us = {ns: max(one[ns] for one in (whole_us, cut_us) if ns in one) for ns in whole_us.keys() | cut_us.keys()}
    moments = _moments(events, starts, last_us)
    windows = []
    for row in firsts:
        before = known.get(row.ns, _Known(None, None, None))
        from_us = last_us.get(row.ns, row.at_us)
        # at the end of a journal nothing that was known moves, but the time up to the new event is now observed; in
        # the middle of one, all times from here on may
        since_us = before.seen_us if before.cut_from is None else from_us
        least_us = row.least_us if since_us is None else min(row.least_us, since_us)
        from_seq = moments.get(row.ns, row.from_seq)
        windows.append(Window(row.ns, from_seq, from_us, (_moment(least_us) - LOOK_BACK).date()))
    return windows


def any_of(conditions: Sequence[Column]) -> Column:
    """Whether one of them holds; false of none."""
    return reduce(or_, conditions) if conditions else fn.lit(False)


def of_ns(values: Mapping[str, Any]) -> Column:
    """The value of a row's `ns`; null where it has none."""
    pairs = [one if isinstance(one, Column) else fn.lit(one) for pair in values.items() for one in pair]
    return fn.try_element_at(fn.create_map(*pairs), fn.col("ns"))


def where_ns(values: Mapping[str, Any], test: Callable[[Column], Column]) -> Column:
    """Whether the value of a row's `ns` stands the test; false where it has none.

    Of few NameServers it is said for each, so that Iceberg passes over files by it.
    """
    if len(values) <= _SPELLED_OUT:
        return any_of([(fn.col("ns") == ns) & test(fn.lit(value)) for ns, value in values.items()])
    value = of_ns(values)
    return value.isNotNull() & test(value)


def _known(observed: DataFrame, starts: dict[str, int]) -> dict[str, _Known]:
    before = where_ns(starts, lambda seq: fn.col("from_seq") < seq)
    whole = where_ns(starts, lambda seq: fn.col("last_seq") < seq)
    rows = (
        observed.where(before)
        .groupBy("ns")
        .agg(
            fn.unix_micros(fn.max(fn.when(whole, fn.col("last_t")))).alias("last_us"),
            fn.unix_micros(fn.max(fn.when(whole, fn.col("seen_until")))).alias("seen_us"),
            fn.min(fn.when(~whole, fn.col("from_seq"))).alias("cut_from"),
        )
        .collect()
    )
    return {row.ns: _Known(row.last_us, row.seen_us, row.cut_from) for row in rows}


def _last_of_cut(events: DataFrame, starts: dict[str, int], known: dict[str, _Known]) -> dict[str, int]:
    """Windows that begin in the midst of what was known: the greatest `at` of the start they cut, up to there."""
    cuts = [
        (fn.col("ns") == ns) & (fn.col("seq") >= before.cut_from) & (fn.col("seq") < starts[ns])
        for ns, before in known.items()
        if before.cut_from is not None
    ]
    if not cuts:
        return {}
    rows = (
        events.where(any_of(cuts) & ~is_rollup()).groupBy("ns").agg(fn.unix_micros(fn.max("at")).alias("us")).collect()
    )
    return {row.ns: row.us for row in rows}


def _moments(events: DataFrame, starts: dict[str, int], last_us: dict[str, int]) -> dict[str, int]:
    """Of NameServers that have a past: the number with which its last moment began."""
    if not last_us:
        return {}
    past = where_ns(starts, lambda seq: fn.col("seq") < seq)
    last = where_ns(last_us, lambda us: fn.col("at") >= fn.timestamp_micros(us))
    first_day = fn.lit(_moment(min(last_us.values())).date())
    rows = (
        events.where((fn.col("day") >= first_day) & last & past & ~is_rollup())
        .groupBy("ns")
        .agg(fn.min("seq").alias("seq"))
        .collect()
    )
    return {row.ns: row.seq for row in rows}


def _moment(us: int) -> datetime:
    return datetime.fromtimestamp(us / 1_000_000, tz=UTC)
