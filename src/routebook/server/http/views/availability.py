"""Availability of a broker per day (UTC), within the time that the NameServer observed it. Pure.

The definitions are those of docs/availability.md, as this NameServer saw it. Not observed: downtime of the NameServer,
and the time before the first registration, after a planned stop without a return, and after seven days without one.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Final, TypeAlias

import msgspec

from routebook.events import DownReason
from routebook.history.query.sessions import GONE_MS, ServerRun, Session

_DAY_MS: Final = 86_400_000
Interval: TypeAlias = tuple[int, int]


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """One day in UTC: availability is `up_ms / observed_ms` if `observed_ms` is not 0; the rest is down time."""

    day: str
    observed_ms: int
    up_ms: int
    planned_down_ms: int  # part of the down time
    outages: int
    planned_outages: int


def by_day(sessions: Sequence[Session], runs: Iterable[ServerRun], *, from_ms: int, to_ms: int) -> list[Day]:
    """Days from `from_ms` to `to_ms` of one broker, from its sessions in order."""
    running = [(max(run.from_ms, from_ms), min(to_ms if run.to_ms is None else run.to_ms, to_ms)) for run in runs]
    up = _merge((session.from_ms, to_ms if session.to_ms is None else session.to_ms) for session in sessions)
    planned, unplanned = _down(sessions, to_ms)
    days = []
    for begin in range(from_ms - from_ms % _DAY_MS, to_ms, _DAY_MS):
        day = (begin, begin + _DAY_MS)
        observed = list(_intersect(running, [day]))
        parts = [_length(_intersect(observed, some)) for some in (up, planned, unplanned)]
        days.append(
            Day(
                day=datetime.fromtimestamp(begin / 1000, UTC).date().isoformat(),
                observed_ms=sum(parts),
                up_ms=parts[0],
                planned_down_ms=parts[1],
                outages=_begun(unplanned, day, from_ms),
                planned_outages=_begun(planned, day, from_ms),
            )
        )
    return days


def _down(sessions: Sequence[Session], to_ms: int) -> tuple[list[Interval], list[Interval]]:
    """Planned outages that ended, and unplanned ones. A role switch, a move and a cold start are not outages."""
    planned: list[Interval] = []
    unplanned: list[Interval] = []
    for session, after in zip_longest(sessions, sessions[1:]):
        if session.to_ms is None or session.ended == DownReason.REPLACED:
            continue
        if session.planned and after is not None:
            planned.append((session.to_ms, after.from_ms))
        elif session.planned is False:
            unplanned.append((session.to_ms, min(to_ms if after is None else after.from_ms, session.to_ms + GONE_MS)))
    return planned, unplanned


def _begun(outages: Iterable[Interval], day: Interval, from_ms: int) -> int:
    return sum(max(day[0], from_ms) <= begin < day[1] for begin, _ in outages)


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
