"""Indexes journal records into SQLite rows, in batches; `commit` writes a batch in one transaction."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, get_args

from routebook.controller_events import ControllerEvent, ControllerLeader, ElectionEvent
from routebook.event_base import RequestEvent
from routebook.events import (
    BrokerChanged,
    BrokerDown,
    BrokerUp,
    JournalHole,
    MappingsChanged,
    PermissionRestored,
    PermissionWiped,
    ServerStarted,
    ServerStopped,
    TopicCause,
    TopicDeleted,
    TopicsChanged,
)
from routebook.history.index.buckets import Cell, by_bucket, fingerprint, pack
from routebook.history.index.groups import GroupReplay, GroupState
from routebook.history.index.name_ids import NameIds
from routebook.history.index.pruning import prune
from routebook.history.index.schema import Op, read_progress, write_progress
from routebook.history.index.sets import SetReplay, SetState
from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Hole, Item
from routebook.journal.record import Record
from routebook.lenient_json import decode_json, encode_json, from_blob

Row: TypeAlias = tuple[object, ...]

CONTROLLER_KINDS: Final = get_args(ControllerEvent)
_MIN_PIECE: Final = 16  # this many changed cells of a bucket are stored as one piece
_MAX_CONTENTS: Final = 8192  # cached ids of bucket contents, by fingerprint
_ABSENT: Final = (None, None, None, None)
_INSERTS: Final = {
    "marks": "INSERT OR IGNORE INTO marks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "groups": "INSERT OR REPLACE INTO groups VALUES (?, ?, ?)",
    "singles": "INSERT OR REPLACE INTO singles VALUES (?, ?, ?, ?, ?, ?, ?)",
    "pieces": "INSERT OR REPLACE INTO pieces VALUES (?, ?, ?, ?)",
    "laid": "INSERT OR IGNORE INTO laid VALUES (?, ?, ?)",
    "ops": "INSERT OR REPLACE INTO ops VALUES (?, ?, ?)",
    "mappings": "INSERT OR REPLACE INTO mappings VALUES (?, ?, ?, ?)",
    "sets": "INSERT OR REPLACE INTO sets VALUES (?, ?, ?, ?)",
    "elections": "INSERT OR REPLACE INTO elections VALUES (?, ?, ?, ?)",
    "holes": "INSERT OR IGNORE INTO holes VALUES (?, ?, ?)",
}


class Indexer:
    """Takes journal items in order, starting after `progress.last_seq`. Not thread-safe."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.progress = read_progress(db)
        self._groups = GroupReplay(_current_groups(db))
        self._sets = SetReplay(_current_sets(db))
        self._topics, self._brokers, self._words = NameIds(db, "topics"), NameIds(db, "brokers"), NameIds(db, "words")
        self._contents: dict[bytes, int] = {}
        self._rows: dict[str, list[Row]] = {table: [] for table in _INSERTS}
        self._run, self._run_at = self._newest_run()
        self._stopped = self._was_stopped()
        db.execute("BEGIN")

    def add(self, item: Item) -> None:
        """Index the next item of the journal."""
        if isinstance(item, Hole):
            if item.certain:
                self._hole(item.first, item.last, item.why or "records are missing")
        elif isinstance(item, Damage):
            after = self.progress.last_seq + 1
            self._hole(after, after, f"{item.file}: {item.reason}")
        else:
            self._record(item.record)

    def commit(self) -> None:
        """Write the batch."""
        db, progress = self._db, self.progress
        for table, rows in self._rows.items():
            if rows:
                db.executemany(_INSERTS[table], rows)
                rows.clear()
        self._end_boot()
        write_progress(db, progress)
        db.execute("COMMIT")
        db.execute("BEGIN")

    def prune_before(self, first_seq: int, first_at: int) -> None:
        """Prune after retention: `first_seq` is now the journal's first record. Call between two batches."""
        if first_seq <= self.progress.first_seq or first_seq > self.progress.last_seq:
            return
        prune(self._db, first_seq)
        self._contents.clear()
        self.progress.first_seq, self.progress.first_at = first_seq, first_at
        self.commit()

    # -- one record ----------------------------------------------------------------------------------------------

    def _record(self, record: Record) -> None:
        progress = self.progress
        if progress.empty:
            progress.ns, progress.first_seq, progress.first_at = record.ns, record.seq, record.at
            progress.at_max, progress.headless = record.at, record.seq > 1
        is_new_boot = record.boot != progress.boot
        if is_new_boot:
            self._end_boot()
        progress.last_seq, progress.last_at, progress.boot = record.seq, record.at, record.boot
        progress.at_max = max(progress.at_max, record.at)
        if is_new_boot:
            self._stopped = False
            row = (record.boot, record.seq, progress.at_max, progress.at_max, False)
            self._db.execute("INSERT OR IGNORE INTO boots VALUES (?, ?, ?, ?, ?)", row)
        self._event(record)

    def _end_boot(self) -> None:
        """Store the last time at which the current process start was running."""
        progress = self.progress
        self._db.execute(
            "UPDATE boots SET to_ms = ?, stopped = ? WHERE boot = ?", (progress.at_max, self._stopped, progress.boot)
        )

    def _event(self, record: Record) -> None:
        event, seq = record.event, record.seq
        match event:
            case TopicsChanged():
                self._topics_changed(event, seq)
                self._mark(record, why=event.cause, peer=event.peer, who=event.who)
            case BrokerUp() | BrokerChanged():
                if self._group_rows(self._groups.apply(event), seq):
                    self._mark(record)
            case BrokerDown():
                self._group_rows(self._groups.apply(event), seq)
                self._mark(record, why=event.reason, peer=event.peer, who=event.who)
            case MappingsChanged():
                self._mappings_changed(event, seq)
                self._mark(record)
            case PermissionWiped() | PermissionRestored():
                op = Op.WIPED if isinstance(event, PermissionWiped) else Op.RESTORED
                self._rows["ops"].append((self._brokers.id(event.broker), seq, op))
                self._mark(record, peer=event.peer, who=event.who)
            case TopicDeleted():
                self._topic_deleted(event, seq)
                self._mark(record, peer=event.peer, who=event.who)
            case ServerStarted():
                if event.cold:
                    self._begin_empty(seq)
                self._mark(record, why="cold" if event.cold else None)
            case ServerStopped():
                self._stopped = True
                self._mark(record, why=event.reason)
            case JournalHole():
                if event.certain:
                    self._hole(event.first_missing, event.last_missing, event.why)
                self._mark(record, why=event.why)
            case _ if isinstance(event, CONTROLLER_KINDS):
                self._controller(record, event)
            case _:
                pass  # does not affect any answer

    def _mark(self, record: Record, *, why: str | None = None, peer: str | None = None, who: str | None = None) -> None:
        if record.at != self._run_at:
            self._run, self._run_at = record.seq, record.at
        words = self._words
        asked = [None if word is None else words.id(word) for word in (why, peer, who)]
        row = (record.seq, record.at, self.progress.at_max, self._run, words.id(record.kind), *asked)
        self._rows["marks"].append(row)

    def _hole(self, first: int, last: int, why: str) -> None:
        self._rows["holes"].append((first, last, why))

    def _controller(self, record: Record, event: ControllerEvent) -> None:
        changed = self._sets.apply(event)
        for name, state in changed.items():
            row = (None, None) if state is None else (state.master_epoch, encode_json(state))
            self._rows["sets"].append((self._brokers.id(name), record.seq, *row))
        if isinstance(event, ControllerLeader):
            self._mark(record, why="leads" if event.leads else "follows")
        elif isinstance(event, ElectionEvent):
            self._rows["elections"].append(
                (record.seq, self._brokers.id(event.broker), record.kind, encode_json(event))
            )
            self._mark(record, why=event.cause, peer=event.peer, who=event.who)
        elif changed:
            peer, who = (event.peer, event.who) if isinstance(event, RequestEvent) else (None, None)
            self._mark(record, peer=peer, who=who)

    # -- brokers -------------------------------------------------------------------------------------------------

    def _group_rows(self, changed: Mapping[str, GroupState | None], seq: int) -> bool:
        for name, state in changed.items():
            blob = None if state is None else encode_json(state)
            self._rows["groups"].append((self._brokers.id(name), seq, blob))
        return bool(changed)

    def _begin_empty(self, seq: int) -> None:
        self._group_rows(self._groups.clear(), seq)
        self._rows["ops"] += [(broker, seq, Op.GONE) for (broker,) in self._db.execute("SELECT id FROM brokers")]
        self._flush("mappings")
        open_mappings = self._db.execute(
            "SELECT topic, broker, max(seq), info FROM mappings GROUP BY topic, broker HAVING info IS NOT NULL"
        )
        self._rows["mappings"] += [(topic, broker, seq, None) for topic, broker, _, _ in open_mappings]

    # -- topics --------------------------------------------------------------------------------------------------

    def _topics_changed(self, event: TopicsChanged, seq: int) -> None:
        broker = self._brokers.id(event.broker)
        if event.cause == TopicCause.REMOVAL:  # the group was removed with all its topics
            self._rows["ops"].append((broker, seq, Op.GONE))
        elif event.cause == TopicCause.ACTING_MASTER:  # all topics lost their write permission
            self._rows["ops"].append((broker, seq, Op.WIPED))
        else:
            number = self._topics.id
            cells: list[tuple[int, Cell | None]] = [(number(topic), None) for topic in event.removed]
            cells += [(number(topic), _cell(queues)) for topic, queues in event.added.items()]
            cells += [(number(topic), _cell(change.after)) for topic, change in event.changed.items()]
            self._cells(cells, broker, seq)

    def _topic_deleted(self, event: TopicDeleted, seq: int) -> None:
        topic = self._topics.id(event.topic)
        for name in event.brokers:
            broker = self._brokers.id(name)
            self._rows["singles"].append((topic, broker, seq, *_ABSENT))
            self._rows["mappings"].append((topic, broker, seq, None))

    def _cells(self, cells: list[tuple[int, Cell | None]], broker: int, seq: int) -> None:
        rows = self._rows
        buckets = by_bucket(cells) if len(cells) >= _MIN_PIECE else {0: cells}
        for bucket, some in buckets.items():
            if len(some) >= _MIN_PIECE:
                content = self._content(pack(some))
                rows["pieces"].append((bucket, broker, seq, content))
                rows["laid"].append((bucket, broker, content))
            else:
                rows["singles"] += [(topic, broker, seq, *(queues or _ABSENT)) for topic, queues in some]

    def _content(self, body: bytes) -> int:
        digest = fingerprint(body)
        found = self._contents.get(digest)
        if found is None:
            if len(self._contents) >= _MAX_CONTENTS:
                self._contents.clear()
            found = self._contents[digest] = self._stored_content(digest, body)
        return found

    def _stored_content(self, digest: bytes, body: bytes) -> int:
        for (number,) in self._db.execute("SELECT id FROM contents WHERE hash = ?", (digest,)):
            return int(number)
        return self._db.execute("INSERT INTO contents (hash, body) VALUES (?, ?)", (digest, body)).lastrowid or 0

    def _mappings_changed(self, event: MappingsChanged, seq: int) -> None:
        broker, number = self._brokers.id(event.broker), self._topics.id
        rows = self._rows["mappings"]
        rows += [(number(topic), broker, seq, encode_json(info)) for topic, info in event.mappings.items()]
        rows += [(number(topic), broker, seq, None) for topic in event.removed]

    # -- state in the file -----------------------------------------------------------------------------------------

    def _flush(self, table: str) -> None:
        self._db.executemany(_INSERTS[table], self._rows[table])
        self._rows[table].clear()

    def _was_stopped(self) -> bool:
        row = self._db.execute("SELECT stopped FROM boots WHERE boot = ?", (self.progress.boot,)).fetchone()
        return row is not None and bool(row[0])

    def _newest_run(self) -> tuple[int, int | None]:
        for run, at in self._db.execute("SELECT run, at FROM marks ORDER BY seq DESC LIMIT 1"):
            return run, at
        return 0, None


def _cell(queues: Iterable[int]) -> Cell:
    perm, read, write, flag = queues
    return perm, read, write, flag


def _current_groups(db: sqlite3.Connection) -> dict[str, GroupState]:
    rows = db.execute(
        "SELECT b.name, g.state, max(g.seq) FROM groups g JOIN brokers b ON b.id = g.broker GROUP BY g.broker"
    )
    return {from_blob(name): decode_json(state, GroupState) for name, state, _ in rows if state is not None}


def _current_sets(db: sqlite3.Connection) -> dict[str, SetState]:
    rows = db.execute(
        "SELECT b.name, s.state, max(s.seq) FROM sets s JOIN brokers b ON b.id = s.broker GROUP BY s.broker"
    )
    return {from_blob(name): decode_json(state, SetState) for name, state, _ in rows if state is not None}
