"""How many brokers there were, and how much happened, step by step over a stretch of time."""

import sqlite3
from typing import Final

import msgspec

from routebook.history.index.groups import GroupState
from routebook.history.query.moments import Moments
from routebook.history.query.sessions import PLANNED, Run
from routebook.lenient_json import decode_json, from_blob

_STATES_AT: Final = """
SELECT broker, state FROM groups g
WHERE seq = (SELECT max(seq) FROM groups WHERE broker = g.broker AND seq <= ?) AND state IS NOT NULL
"""
_CHANGES: Final = """
SELECT g.broker, g.state, m.at_max, why.name FROM groups g JOIN marks m ON m.seq = g.seq
LEFT JOIN words why ON why.id = m.why WHERE g.seq > ? ORDER BY g.seq
"""


class StripPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One step. `brokers` is null where the NameServer did not run at its end, or nothing is kept of it."""

    at_ms: int
    brokers: int | None
    ups: int
    downs: int  # that nobody planned
    changes: int
    observed: bool


class _Step:
    """What is counted of a step."""

    __slots__ = ("changes", "downs", "members", "ups")

    def __init__(self) -> None:
        self.members: int | None = None  # None: as in the step before
        self.ups = self.downs = self.changes = 0


def strip(
    db: sqlite3.Connection, moments: Moments, observed: list[Run], *, from_ms: int, step_ms: int, steps: int
) -> list[StripPoint]:
    """The steps from `from_ms` on, oldest first."""
    begin = moments.number_at(from_ms - 1)
    counted = [_Step() for _ in range(steps)]
    groups = {broker: decode_json(state, GroupState).addrs for broker, state in db.execute(_STATES_AT, (begin,))}
    members = first = sum(map(len, groups.values()))
    for broker, state, at_ms, why in db.execute(_CHANGES, (begin,)):
        before, after = groups.get(broker, {}), {} if state is None else decode_json(state, GroupState).addrs
        groups[broker] = after
        members += len(after) - len(before)
        number = (at_ms - from_ms) // step_ms
        if number >= steps:
            break
        step = counted[max(0, number)]
        step.members = members
        came, left = set(after.values()) - set(before.values()), set(before.values()) - set(after.values())
        step.ups += len(came)
        if why is None or from_blob(why) not in PLANNED:
            step.downs += len(left)
    for number, changes in db.execute(
        "SELECT (at_max - ?) / ?, count(*) FROM marks WHERE seq > ? GROUP BY 1", (from_ms, step_ms, begin)
    ):
        if 0 <= number < steps:
            counted[number].changes = changes
    points = []
    for number, step in enumerate(counted):
        first = first if step.members is None else step.members
        end_ms = from_ms + (number + 1) * step_ms
        ran = any(run.from_ms < end_ms and (run.to_ms is None or run.to_ms >= end_ms) for run in observed)
        points.append(
            StripPoint(
                at_ms=end_ms - step_ms,
                brokers=first if ran else None,
                ups=step.ups,
                downs=step.downs,
                changes=step.changes,
                observed=ran,
            )
        )
    return points
