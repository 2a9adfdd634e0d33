"""Activity over time: number of brokers, and counts of ups, downs and changes per time step."""

import sqlite3
from typing import Final

import msgspec

from routebook.history.index.groups import GroupState
from routebook.history.query.event_times import EventTimes
from routebook.history.query.sessions import PLANNED, ServerRun
from routebook.lenient_json import decode_json, from_blob

_STATES_AT: Final = """
SELECT broker, state FROM groups g
WHERE seq = (SELECT max(seq) FROM groups WHERE broker = g.broker AND seq <= ?) AND state IS NOT NULL
"""
_CHANGES: Final = """
SELECT g.broker, g.state, m.at_max, why.name FROM groups g JOIN marks m ON m.seq = g.seq
LEFT JOIN words why ON why.id = m.why WHERE g.seq > ? ORDER BY g.seq
"""


class ActivityPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One time step. `brokers` is null if the NameServer did not run at its end, or the time is not in the index."""

    at_ms: int
    brokers: int | None
    ups: int
    downs: int  # unplanned ones
    changes: int
    observed: bool


class _Step:
    """Counters of one time step."""

    __slots__ = ("changes", "downs", "members", "ups")

    def __init__(self) -> None:
        self.members: int | None = None  # None: unchanged
        self.ups = self.downs = self.changes = 0


def activity(
    db: sqlite3.Connection, times: EventTimes, observed: list[ServerRun], *, from_ms: int, step_ms: int, steps: int
) -> list[ActivityPoint]:
    """Return the time steps from `from_ms` on, oldest first."""
    begin = times.seq_at(from_ms - 1)
    counted = [_Step() for _ in range(steps)]
    groups = {broker: decode_json(state, GroupState).addrs for broker, state in db.execute(_STATES_AT, (begin,))}
    members = shown = sum(map(len, groups.values()))
    for broker, state, at_ms, why in db.execute(_CHANGES, (begin,)):
        before, after = groups.get(broker, {}), {} if state is None else decode_json(state, GroupState).addrs
        groups[broker] = after
        members += len(after) - len(before)
        number = (at_ms - from_ms) // step_ms
        if number >= steps:
            break
        step = counted[max(0, number)]
        step.members = members
        step.ups += len(set(after.values()) - set(before.values()))
        if why is None or from_blob(why) not in PLANNED:
            step.downs += len(set(before.values()) - set(after.values()))
    for number, changes in db.execute(
        "SELECT (at_max - ?) / ?, count(*) FROM marks WHERE seq > ? GROUP BY 1", (from_ms, step_ms, begin)
    ):
        if 0 <= number < steps:
            counted[number].changes = changes
    points = []
    for number, step in enumerate(counted):
        shown = shown if step.members is None else step.members
        end_ms = from_ms + (number + 1) * step_ms
        ran = any(run.from_ms < end_ms and (run.to_ms is None or run.to_ms >= end_ms) for run in observed)
        points.append(
            ActivityPoint(
                at_ms=end_ms - step_ms,
                brokers=shown if ran else None,
                ups=step.ups,
                downs=step.downs,
                changes=step.changes,
                observed=ran,
            )
        )
    return points
