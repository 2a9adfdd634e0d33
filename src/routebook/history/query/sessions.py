"""Sessions: when the members of a broker group were registered and why they left, and when the NameServer ran."""

import sqlite3
from collections.abc import Iterator
from itertools import count
from typing import Final

import msgspec

from routebook.events import DownReason
from routebook.history.index.groups import GroupState
from routebook.history.index.schema import Progress
from routebook.history.query.members import Gone, returning
from routebook.lenient_json import decode_json, from_blob

GONE_MS: Final = 7 * 86_400_000  # after this time without a return, a broker counts as removed
PLANNED: Final = frozenset({DownReason.UNREGISTERED, DownReason.DEREGISTERED, DownReason.REPLACED})
ROLE_SWITCH: Final = "role_switch"
COLD_START: Final = "nameserver_cold_start"
BEFORE: Final = "before"  # began before the retained history

_ROWS: Final = """
SELECT g.seq, g.state, m.at_max, kind.name, why.name, peer.name, who.name
FROM groups g LEFT JOIN marks m ON m.seq = g.seq
LEFT JOIN words kind ON kind.id = m.kind LEFT JOIN words why ON why.id = m.why
LEFT JOIN words peer ON peer.id = m.peer LEFT JOIN words who ON who.id = m.who
WHERE g.broker = ? ORDER BY g.seq
"""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """An interval in which an address was a member of its group under one broker id.

    `member` identifies the broker within its group, whatever its address and role.
    """

    member: int = 0
    broker_id: int
    addr: str
    cluster: str
    from_ms: int  # for `before`: the start of the retained history
    began: str  # the kind of the event, or `before`
    to_ms: int | None = None  # None: still registered
    ended: str | None = None  # a down reason, `role_switch` or `nameserver_cold_start`
    planned: bool | None = None
    peer: str | None = None  # address of the client that requested the removal
    who: str | None = None  # its identity


class ServerRun(msgspec.Struct, frozen=True, kw_only=True):
    """An interval in which the NameServer ran; `to_ms` is None while it runs."""

    from_ms: int
    to_ms: int | None
    ended: str | None  # stopped, crashed


class _Row(msgspec.Struct, frozen=True):
    """A change of the group and the event that caused it."""

    state: GroupState | None
    at_ms: int | None
    kind: str
    why: str | None
    peer: str | None
    who: str | None


def sessions_of(db: sqlite3.Connection, broker: int, progress: Progress, *, since_ms: int) -> list[Session]:
    """Return all sessions since `since_ms`, by start time, and the last one before if the broker was gone then."""
    current: dict[tuple[int, str], Session] = {}
    found: list[Session] = []
    numbers = count(1)
    gone: dict[int, Session] = {}  # the last session of members that are not registered
    for row in _rows(db, broker):
        at_ms = progress.first_at if row.at_ms is None else row.at_ms
        members = {} if row.state is None else {(one.broker_id, one.addr): one for one in row.state.members}
        addrs = {addr for _, addr in members}
        keys = [key for key in current if key not in members]
        left = [_ended(current.pop(key), row, at_ms, moved=key[1] in addrs) for key in keys]
        for key in [key for key in members if key not in current]:
            member = _member(key, left, gone, {broker_id for broker_id, _ in members}) or next(numbers)
            before = gone.pop(member, None)
            if before is not None and at_ms >= since_ms and (before.to_ms or 0) < since_ms:
                found.append(before)
            current[key] = Session(
                member=member,
                broker_id=key[0],
                addr=key[1],
                cluster=members[key].cluster,
                from_ms=at_ms,
                began=BEFORE if row.at_ms is None else row.kind,
            )
        there = {session.member for session in current.values()}
        gone |= {session.member: session for session in left if session.member not in there}
        found += [session for session in left if at_ms >= since_ms]
    still = [one for one in gone.values() if one.to_ms is not None and since_ms - GONE_MS < one.to_ms < since_ms]
    return sorted([*found, *still, *current.values()], key=lambda session: session.from_ms)


def _member(key: tuple[int, str], left: list[Session], gone: dict[int, Session], taken: set[int]) -> int | None:
    """The member that begins a session: one that switched its role or moved, or one that returns; else None."""
    broker_id, addr = key
    for session in left:
        if session.ended == ROLE_SWITCH and session.addr == addr:
            return session.member
    for session in left:
        if session.ended != ROLE_SWITCH and session.broker_id == broker_id:
            return session.member
    others = [Gone(one.member, one.broker_id, one.addr, one.to_ms or 0) for one in gone.values()]
    found = returning(others, broker_id, addr, taken - {broker_id})
    return None if found is None else found.member


def server_runs(db: sqlite3.Connection, progress: Progress, *, since_ms: int, now_ms: int | None) -> list[ServerRun]:
    """Return when the NameServer ran. With `now_ms` the last start counts as still running, unless it stopped."""
    found = []
    for boot, from_ms, to_ms, stopped in db.execute(
        "SELECT boot, from_ms, to_ms, stopped FROM boots ORDER BY first_seq"
    ):
        running = now_ms is not None and boot == progress.boot and not stopped
        if running or to_ms >= since_ms:
            ended = None if running else "stopped" if stopped else "crashed"
            found.append(ServerRun(from_ms=from_ms, to_ms=None if running else to_ms, ended=ended))
    return found


def _rows(db: sqlite3.Connection, broker: int) -> Iterator[_Row]:
    for _, state, at_ms, *words in db.execute(_ROWS, (broker,)):
        kind, why, peer, who = (None if word is None else from_blob(word) for word in words)
        yield _Row(None if state is None else decode_json(state, GroupState), at_ms, kind or "", why, peer, who)


def _ended(session: Session, row: _Row, at_ms: int, *, moved: bool) -> Session:
    if moved:
        ended, planned = ROLE_SWITCH, None
    elif row.kind == "server_started":
        ended, planned = COLD_START, None
    else:
        ended, planned = row.why or row.kind, row.why in PLANNED
    return msgspec.structs.replace(session, to_ms=at_ms, ended=ended, planned=planned, peer=row.peer, who=row.who)
