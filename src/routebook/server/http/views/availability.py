"""Availability of a broker per day (UTC), within the time that the NameServer observed it. Pure.

Not observed: downtime of the NameServer, the time before the broker first registered, and the time between a planned
stop (it unregistered, or an operator deregistered it) and its return.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

import msgspec

from routebook.history.query.sessions import ServerRun, Session

_DAY_MS: Final = 86_400_000
Interval: TypeAlias = tuple[int, int]


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """One day in UTC: availability is `up_ms / observed_ms` if `observed_ms` is not 0."""

    day: str
    observed_ms: int
    up_ms: int
    outages: int


def by_day(sessions: Sequence[Session], runs: Iterable[ServerRun], *, from_ms: int, to_ms: int) -> list[Day]:
    """Days from `from_ms` to `to_ms` of one address, from its sessions in order."""
    running = [(max(run.from_ms, from_ms), min(to_ms if run.to_ms is None else run.to_ms, to_ms)) for run in runs]
    up = _merge((session.from_ms, to_ms if session.to_ms is None else session.to_ms) for session in sessions)
    expected = _expected(sessions, to_ms)
    outages = [session.to_ms for session in sessions if session.planned is False and session.to_ms is not None]
    days = []
    for begin in range(from_ms - from_ms % _DAY_MS, to_ms, _DAY_MS):
        day = (begin, begin + _DAY_MS)
        observed = list(_intersect(_intersect(running, [day]), expected))
        days.append(
            Day(
                day=datetime.fromtimestamp(begin / 1000, UTC).date().isoformat(),
                observed_ms=_length(observed),
                up_ms=_length(_intersect(observed, up)),
                outages=sum(day[0] <= at < day[1] and at >= from_ms for at in outages),
            )
        )
    return days


def _expected(sessions: Sequence[Session], to_ms: int) -> list[Interval]:
    """Intervals from a registration to the next planned stop."""
    found: list[Interval] = []
    begin: int | None = None
    for session in sessions:
        begin = session.from_ms if begin is None else begin
        if session.planned:
            found.append((begin, session.to_ms or to_ms))
            begin = None
    if begin is not None:
        found.append((begin, to_ms))
    return _merge(found)


def _merge(intervals: Iterable[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _intersect(some: Iterable[Interval], others: Sequence[Interval]) -> Iterator[Interval]:
    for begin, end in some:
        for other_begin, other_end in others:
            if max(begin, other_begin) < min(end, other_end):
                yield max(begin, other_begin), min(end, other_end)


def _length(intervals: Iterable[Interval]) -> int:
    return sum(end - begin for begin, end in intervals)
