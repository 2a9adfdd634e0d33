"""The begin of a refresh: for each NameServer with new events, the time of the last event before them.

Events with the same time are one change, so they are recomputed together: tables have no rows of zero length, from
which a refresh that begins between two such events could continue.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, Final, NamedTuple
from zlib import crc32

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.event_time import is_rollup

LOOK_BACK: Final = timedelta(minutes=150)
"""The longest time by which a new event changes earlier figures of daily tables.

A recovered broker is first seen minutes after the restart of its NameServer. A flap is known with its third outage, at
most 126 minutes after its first (silver/flap_series.py). A rule that reaches further back must raise this. The one
exception is a planned outage, which counts only when the broker returns: then the refresh begins on its first day.
"""


_SIGNS: Final = ("broker_up", "broker_returned", "broker_changed")
_MAX_CONDITIONS: Final = 8  # NameServers; with more, one condition each costs more than the skipped files save


class News(NamedTuple):
    """What the new events of a NameServer are; the defaults exclude nothing."""

    kinds: frozenset[str] = frozenset()
    is_late: bool = True  # some precede known events, which can change the time and meaning of those
    is_start: bool = True  # some do not belong to the running start: a NameServer started or had stopped
    is_new_day: bool = True


class Window(NamedTuple):
    """All events of `ns` from `from_seq` on are processed again."""

    ns: str
    from_seq: int
    from_us: int  # µs since the epoch: no event in the window except rollups has an earlier `t`
    first_day: date  # UTC: the first day that daily tables recompute
    news: News = News()


class _Past(NamedTuple):
    """The time before a window, from `silver.observed`."""

    last_us: int | None = None  # time of the last event of the starts that ended before the window
    seen_us: int | None = None
    cut_from: int | None = None  # first number of the start in which the window begins
    last_seq: int | None = None  # of all starts
    running: str | None = None  # the start that has not ended


def find_windows(new: DataFrame, *, observed: DataFrame, spans: DataFrame, events: DataFrame) -> list[Window]:
    """The windows for the bronze rows `new`.

    `observed` and `spans` are silver.observed and silver.broker_spans before the refresh, `events` all of bronze. For a
    full build `new` is all events and the tables are empty; for a backfill `new` is the events of its days, which the
    tables already include.
    """
    firsts = (
        new.groupBy("ns")
        .agg(
            fn.min("seq").alias("from_seq"),
            fn.unix_micros(fn.min("at")).alias("at_us"),
            fn.unix_micros(fn.min(fn.least("at", "minute"))).alias("least_us"),
            fn.unix_micros(fn.max("at")).alias("until_us"),
            fn.collect_set("kind").alias("kinds"),
            fn.collect_set("boot").alias("boots"),
        )
        .orderBy("ns")
        .collect()
    )
    starts = {row.ns: row.from_seq for row in firsts}
    past = _past(observed, starts)
    cut_us = _last_of_cut(events, starts, past)
    whole_us = {ns: before.last_us for ns, before in past.items() if before.last_us is not None}
    last_us = {ns: max(one[ns] for one in (whole_us, cut_us) if ns in one) for ns in whole_us.keys() | cut_us.keys()}
    first_seqs = _first_seqs(events, starts, last_us)
    planned_us = _planned_since(new, spans, {ns: first_seqs.get(ns, seq) for ns, seq in starts.items()})
    windows = []
    for row in firsts:
        before = past.get(row.ns, _Past())
        from_us = last_us.get(row.ns, row.at_us)
        # New events at the end of a journal change no earlier time, but the time up to them is now observed. New
        # events in the middle of a journal can change all times after them.
        since_us = before.seen_us if before.cut_from is None else from_us
        least_us = row.least_us if since_us is None else min(row.least_us, since_us)
        from_seq = first_seqs.get(row.ns, row.from_seq)
        first_us = min(least_us - LOOK_BACK // timedelta(microseconds=1), planned_us.get(row.ns, least_us))
        news = News(
            kinds=frozenset(row.kinds),
            is_late=before.last_seq is not None and before.last_seq >= row.from_seq,
            is_start=row.boots != [before.running],
            is_new_day=before.seen_us is None or _day(before.seen_us) != _day(row.until_us),
        )
        windows.append(Window(row.ns, from_seq, from_us, _day(first_us), news))
    return windows


def _planned_since(new: DataFrame, spans: DataFrame, starts: dict[str, int]) -> dict[str, int]:
    """For each NameServer: the begin of the earliest planned outage that ends, or ended, in its window.

    An outage that was open is taken to end if a broker of its group registers in the window.
    """
    is_before = where_ns(starts, lambda seq: fn.col("from_seq") < seq, loosest=max)
    ended_in = where_ns(starts, lambda seq: fn.col("to_seq") >= seq)
    may_be_planned = fn.coalesce("planned", "unseen") & (fn.col("began") != "replaced")
    stops = spans.where((fn.col("state") == "down") & may_be_planned & is_before)
    joined = new.where(fn.col("kind").isin(*_SIGNS)).select("ns", "cluster", "broker").distinct()
    ending = stops.where(ended_in).unionByName(
        stops.where("to_seq is null").join(fn.broadcast(joined), ["ns", "cluster", "broker"], "left_semi")
    )
    rows = ending.groupBy("ns").agg(fn.unix_micros(fn.min("from_at")).alias("us")).collect()
    return {row.ns: row.us for row in rows}


def any_of(conditions: Sequence[Column]) -> Column:
    """The disjunction of the conditions; false if there are none."""
    return reduce(or_, conditions) if conditions else fn.lit(False)


def by_ns(values: Mapping[str, int | date]) -> Column:
    """The value for a row's `ns`; null if there is none.

    A look-up in a map is linear, so NameServers are spread by checksum over maps of a few entries each.
    """
    kind = "date" if any(isinstance(one, date) for one in values.values()) else "bigint"
    return look_up(values, kind)


def look_up(values: Mapping[str, Any], kind: str) -> Column:
    """The value of type `kind` for a row's `ns`; null if there is none."""
    maps: list[dict[str, Any]] = [{} for _ in range(len(values) // _MAX_CONDITIONS + 1)]
    for ns, value in values.items():
        maps[crc32(ns.encode()) % len(maps)][ns] = value
    spread = fn.from_json(fn.lit(msgspec.json.encode(maps).decode()), f"array<map<string, {kind}>>")
    number = (fn.crc32(fn.col("ns").cast("binary")) % len(maps)).cast("int")
    return fn.try_element_at(fn.get(spread, number), fn.col("ns"))


def where_ns(
    values: Mapping[str, int | date],
    test: Callable[[Column], Column],
    *,
    loosest: Callable[[Iterable[Any]], Any] = min,
) -> Column:
    """Whether the value for a row's `ns` passes the test; false if there is none.

    For few NameServers this is one condition each, by which Iceberg can skip files. For many it is one condition with
    the value that most rows pass (`loosest`), before the exact one.
    """
    if len(values) <= _MAX_CONDITIONS:
        return any_of([(fn.col("ns") == ns) & test(fn.lit(value)) for ns, value in values.items()])
    value = by_ns(values)
    return test(fn.lit(loosest(values.values()))) & value.isNotNull() & test(value)


def _past(observed: DataFrame, starts: dict[str, int]) -> dict[str, _Past]:
    before = where_ns(starts, lambda seq: fn.col("from_seq") < seq, loosest=max)
    whole = where_ns(starts, lambda seq: fn.col("last_seq") < seq, loosest=max)
    rows = (
        observed.groupBy("ns")
        .agg(
            fn.unix_micros(fn.max(fn.when(before & whole, fn.col("last_t")))).alias("last_us"),
            fn.unix_micros(fn.max(fn.when(before & whole, fn.col("seen_until")))).alias("seen_us"),
            fn.min(fn.when(before & ~whole, fn.col("from_seq"))).alias("cut_from"),
            fn.max("last_seq").alias("last_seq"),
            fn.max(fn.when(fn.col("ended").isNull(), fn.col("boot"))).alias("running"),
        )
        .collect()
    )
    return {row.ns: _Past(row.last_us, row.seen_us, row.cut_from, row.last_seq, row.running) for row in rows}


def _last_of_cut(events: DataFrame, starts: dict[str, int], past: dict[str, _Past]) -> dict[str, int]:
    """For windows that begin within a known start: the greatest `at` of that start before the window."""
    cuts = [
        (fn.col("ns") == ns) & (fn.col("seq") >= before.cut_from) & (fn.col("seq") < starts[ns])
        for ns, before in past.items()
        if before.cut_from is not None
    ]
    if not cuts:
        return {}
    rows = (
        events.where(any_of(cuts) & ~is_rollup()).groupBy("ns").agg(fn.unix_micros(fn.max("at")).alias("us")).collect()
    )
    return {row.ns: row.us for row in rows}


def _first_seqs(events: DataFrame, starts: dict[str, int], last_us: dict[str, int]) -> dict[str, int]:
    """For NameServers with earlier events: the first number that has the time of the last of them."""
    if not last_us:
        return {}
    past = where_ns(starts, lambda seq: fn.col("seq") < seq, loosest=max)
    last = where_ns(last_us, lambda us: fn.col("at") >= fn.timestamp_micros(us))
    first_day = fn.lit(_day(min(last_us.values())))
    rows = (
        events.where((fn.col("day") >= first_day) & last & past & ~is_rollup())
        .groupBy("ns")
        .agg(fn.min("seq").alias("seq"))
        .collect()
    )
    return {row.ns: row.seq for row in rows}


def _day(us: int) -> date:
    return datetime.fromtimestamp(us / 1_000_000, tz=UTC).date()
