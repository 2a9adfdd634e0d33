"""The Controller's broker sets at a past time, and the elections that made their masters."""

import sqlite3
from typing import Final

import msgspec

from routebook.controller_events import Candidate, ElectionEvent, MasterElected, NoMasterElected
from routebook.history.index.sets import SetState
from routebook.history.query.answers import Cause, Certainty
from routebook.history.query.event_times import EventTimes
from routebook.history.query.lookup import BrokerLookup
from routebook.lenient_json import decode_json

_ELECTIONS: Final[dict[str, type[ElectionEvent]]] = {
    "master_elected": MasterElected,
    "no_master_elected": NoMasterElected,
}


class Election(msgspec.Struct, frozen=True, kw_only=True):
    """An election. `master_id` is None if it found no candidate; `lost_at_ms`: the previous master was last seen."""

    seq: int
    at_ms: int
    kind: str
    cluster: str
    broker: str
    cause: str
    master_id: int | None
    master_addr: str | None
    before_id: int | None
    before_addr: str | None
    master_epoch: int
    in_sync: list[int]
    before_in_sync: list[int]
    unclean: bool
    lost_at_ms: int | None
    candidates: list[Candidate]
    peer: str | None
    who: str | None


class PastReplica(msgspec.Struct, frozen=True, kw_only=True):
    """A broker of a set."""

    id: int
    addr: str
    is_master: bool
    in_sync: bool


class PastSet(msgspec.Struct, frozen=True, kw_only=True):
    """A set at a time. Its master, or none, was valid from `since_ms` (None: before the first record) to `until_ms`."""

    broker: str
    cluster: str
    master_id: int | None
    master_addr: str | None
    master_epoch: int
    sync_state_epoch: int
    replicas: list[PastReplica]
    since_ms: int | None
    until_ms: int | None
    cause: Cause | None
    election: Election | None


class PastSetAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One set at a time. `led`: this node led the Controller then; otherwise others may have changed the set."""

    broker: str
    at_ms: int
    set: PastSet | None
    led: bool
    certainty: Certainty


class PastSets(msgspec.Struct, frozen=True, kw_only=True):
    """All sets at a time."""

    at_ms: int
    sets: list[PastSet]
    led: bool
    certainty: Certainty


class Elections(msgspec.Struct, frozen=True, kw_only=True):
    """The newest elections, newest first."""

    elections: list[Election]
    more: bool
    certainty: Certainty


class SetLookup:
    """Sets and elections as of a sequence number."""

    def __init__(self, db: sqlite3.Connection, times: EventTimes) -> None:
        self._db = db
        self._times = times
        self._brokers = BrokerLookup(db)

    def one(self, name: str, seq: int) -> PastSet | None:
        number = self._brokers.number(name)
        return None if number is None else self._at(number, name, seq)

    def all(self, seq: int) -> list[PastSet]:
        rows = self._db.execute("SELECT DISTINCT broker FROM sets").fetchall()
        found = [self._at(number, self._brokers.name(number), seq) for (number,) in rows]
        return sorted((one for one in found if one is not None), key=lambda one: one.broker)

    def led(self, seq: int) -> bool:
        """Whether this node led at an event."""
        row = self._db.execute(
            "SELECT y.name FROM marks m JOIN words k ON k.id = m.kind JOIN words y ON y.id = m.why"
            " WHERE k.name = ? AND m.seq <= ? ORDER BY m.seq DESC LIMIT 1",
            (b"controller_leader", seq),
        ).fetchone()
        return row is not None and row[0] == b"leads"

    def elections(self, *, broker: str | None, before_ms: int | None, limit: int) -> tuple[list[Election], bool]:
        """The newest elections up to a time, and whether there are older ones."""
        seq = self._times.newest() if before_ms is None else self._times.seq_at(before_ms)
        number = None if broker is None else self._brokers.number(broker) or 0
        rows = self._db.execute(
            "SELECT seq, kind, event FROM elections WHERE seq <= ? AND (? IS NULL OR broker = ?)"
            " ORDER BY seq DESC LIMIT ?",
            (seq, number, number, limit + 1),
        ).fetchall()
        found = [self._election(*row) for row in rows]
        return found[:limit], len(found) > limit

    def _at(self, number: int, name: str, seq: int) -> PastSet | None:
        row = self._db.execute(
            "SELECT epoch, state FROM sets WHERE broker = ? AND seq <= ? ORDER BY seq DESC LIMIT 1", (number, seq)
        ).fetchone()
        if row is None or row[1] is None:
            return None
        epoch, state = row[0], decode_json(row[1], SetState)
        (other,) = self._db.execute(
            "SELECT ifnull(max(seq), 0) FROM sets WHERE broker = ? AND seq <= ? AND epoch IS NOT ?",
            (number, seq, epoch),
        ).fetchone()
        (began,) = self._db.execute(
            "SELECT min(seq) FROM sets WHERE broker = ? AND seq > ?", (number, other)
        ).fetchone()
        (ended,) = self._db.execute(
            "SELECT min(seq) FROM sets WHERE broker = ? AND seq > ? AND epoch IS NOT ?", (number, seq, epoch)
        ).fetchone()
        since_ms = self._times.time_if_kept(began)
        election = self._db.execute("SELECT seq, kind, event FROM elections WHERE seq = ?", (began,)).fetchone()
        return PastSet(
            broker=name,
            cluster=state.cluster,
            master_id=state.master_id,
            master_addr=None if state.master_id is None else state.replicas.get(state.master_id),
            master_epoch=state.master_epoch,
            sync_state_epoch=state.sync_state_epoch,
            replicas=[
                PastReplica(id=one, addr=addr, is_master=one == state.master_id, in_sync=one in state.in_sync)
                for one, addr in sorted(state.replicas.items())
            ],
            since_ms=since_ms,
            until_ms=None if ended is None else self._times.time_of(ended),
            cause=None if since_ms is None else self._times.cause(began),
            election=None if election is None else self._election(*election),
        )

    def _election(self, seq: int, kind: str, body: bytes) -> Election:
        event = decode_json(body, _ELECTIONS[kind])
        elected = event if isinstance(event, MasterElected) else None
        return Election(
            seq=seq,
            at_ms=self._times.cause(seq).at_ms,
            kind=kind,
            cluster=event.cluster,
            broker=event.broker,
            cause=event.cause.value,
            master_id=None if elected is None else elected.broker_id,
            master_addr=None if elected is None else elected.addr,
            before_id=event.before_id,
            before_addr=event.before_addr,
            master_epoch=event.master_epoch,
            in_sync=list(event.in_sync),
            before_in_sync=list(event.before_in_sync),
            unclean=elected is not None and elected.unclean,
            lost_at_ms=event.lost_at_ms,
            candidates=list(event.candidates),
            peer=event.peer,
            who=event.who,
        )
