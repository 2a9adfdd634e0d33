"""How much of each day a broker was there, of the time in which somebody looked. Pure.

Not counted are times when the NameServer did not run, times before the broker first came, and times between a planned
leave (it unregistered, or was deregistered) and its return: nobody expected it then.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

import msgspec

from routebook.history.query.sessions import ServerRun, Session

_DAY_MS: Final = 86_400_000
Stretch: TypeAlias = tuple[int, int]


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """A day in UTC: its availability is `up_ms / observed_ms`, where anything was observed."""

    day: str
    observed_ms: int
    up_ms: int
    outages: int


def by_day(sessions: Sequence[Session], runs: Iterable[ServerRun], *, from_ms: int, to_ms: int) -> list[Day]:
    """Of one address: `sessions` in order. Days from the one of `from_ms` to that of `to_ms`."""
    ran = [(max(run.from_ms, from_ms), min(to_ms if run.to_ms is None else run.to_ms, to_ms)) for run in runs]
    up = [(session.from_ms, to_ms if session.to_ms is None else session.to_ms) for session in sessions]
    expected = _expected(sessions, to_ms)
    outages = [session.to_ms for session in sessions if session.planned is False and session.to_ms is not None]
    days = []
    for begin in range(from_ms - from_ms % _DAY_MS, to_ms, _DAY_MS):
        day = (begin, begin + _DAY_MS)
        observed = [piece for stretch in ran for piece in _common([stretch], [day])]
        observed = [piece for stretch in expected for piece in _common(observed, [stretch])]
        days.append(
            Day(
                day=datetime.fromtimestamp(begin / 1000, UTC).date().isoformat(),
                observed_ms=_length(observed),
                up_ms=_length(piece for stretch in _merged(up) for piece in _common(observed, [stretch])),
                outages=sum(day[0] <= at < day[1] and at >= from_ms for at in outages),
            )
        )
    return days


def _expected(sessions: Sequence[Session], to_ms: int) -> list[Stretch]:
    """From each coming to the next planned leave."""
    found: list[Stretch] = []
    begin: int | None = None
    for session in sessions:
        begin = session.from_ms if begin is None else begin
        if session.planned:
            found.append((begin, session.to_ms or to_ms))
            begin = None
    if begin is not None:
        found.append((begin, to_ms))
    return _merged(found)


def _merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    merged: list[Stretch] = []
    for begin, end in sorted(stretches):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _common(some: Iterable[Stretch], others: Sequence[Stretch]) -> Iterator[Stretch]:
    for begin, end in some:
        for other_begin, other_end in others:
            if max(begin, other_begin) < min(end, other_end):
                yield max(begin, other_begin), min(end, other_end)


def _length(stretches: Iterable[Stretch]) -> int:
    return sum(end - begin for begin, end in stretches)
