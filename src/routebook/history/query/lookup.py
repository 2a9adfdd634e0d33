"""Looks up one topic or broker as of a sequence number: the last row that is not after it."""

import sqlite3
from collections.abc import Iterator
from typing import Final

import msgspec

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.history.index.buckets import Cell, bucket_of, find, unpack
from routebook.history.index.groups import GroupState, VisibleGroup
from routebook.history.index.schema import Op
from routebook.lenient_json import decode_json, from_blob, to_blob
from routebook.model import TopicQueueMappingInfo

_FIRST_FETCH: Final = 4  # rows per table in the first batch of a search; later batches grow
_MAX_FETCH: Final = 1024


class RoutePart(msgspec.Struct, frozen=True):
    """What one broker contributes to a topic's route."""

    queues: Cell
    group: VisibleGroup


class BrokerLookup:
    """Broker groups, by the id of the broker name."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def number(self, name: str) -> int | None:
        row = self._db.execute("SELECT id FROM brokers WHERE name = ?", (to_blob(name),)).fetchone()
        return None if row is None else int(row[0])

    def name(self, broker: int) -> str:
        return from_blob(self._db.execute("SELECT name FROM brokers WHERE id = ?", (broker,)).fetchone()[0])

    def all(self) -> list[tuple[int, str]]:
        """Return id and name of all known brokers, sorted by name."""
        rows = self._db.execute("SELECT id, name FROM brokers")
        return sorted(((broker, from_blob(name)) for broker, name in rows), key=lambda row: row[1])

    def group(self, broker: int, seq: int) -> GroupState | None:
        """Return the group as of a sequence number; None if it did not exist."""
        sql = "SELECT state FROM groups WHERE broker = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
        row = self._db.execute(sql, (broker, seq)).fetchone()
        return None if row is None or row[0] is None else decode_json(row[0], GroupState)

    def since(self, broker: int, seq: int) -> int:
        """Return the sequence number of the last change of the group up to `seq`."""
        return _one(self._db, "SELECT max(seq) FROM groups WHERE broker = ? AND seq <= ?", (broker, seq)) or 0

    def changes(self, broker: int, up_to: int) -> Iterator[int]:
        """Yield the sequence numbers of changes of the group, newest first."""
        rows = self._db.execute(
            "SELECT seq FROM groups WHERE broker = ? AND seq <= ? ORDER BY seq DESC", (broker, up_to)
        )
        return (int(seq) for (seq,) in rows)


class TopicLookup:
    """One topic, as of any sequence number."""

    def __init__(self, db: sqlite3.Connection, topic: str) -> None:
        self._db = db
        self._brokers = BrokerLookup(db)
        row = db.execute("SELECT id FROM topics WHERE name = ?", (to_blob(topic),)).fetchone()
        self._topic = 0 if row is None else int(row[0])
        self._bucket = bucket_of(self._topic)
        self._held: dict[int, Cell | None] = {}  # bucket contents that include this topic, with its queues
        self.brokers = self._ever_on() if row is not None else []

    def part(self, broker: int, seq: int) -> RoutePart | None:
        """Return what the broker contributed as of a sequence number, or None."""
        queues = self._queues(broker, seq)
        group = None if queues is None else self._brokers.group(broker, seq)
        return None if queues is None or group is None else RoutePart(queues, group.visible)

    def mappings(self, seq: int) -> dict[int, TopicQueueMappingInfo]:
        """Return the static mappings by broker id."""
        rows = self._db.execute(
            "SELECT broker, info, max(seq) FROM mappings WHERE topic = ? AND seq <= ? GROUP BY broker",
            (self._topic, seq),
        )
        return {broker: decode_json(info, TopicQueueMappingInfo) for broker, info, _ in rows if info is not None}

    def earlier(self, seq: int) -> Iterator[tuple[int, int | None]]:
        """Yield events up to `seq` that may have changed the route: sequence number, and broker (None: mappings).

        Newest first; a sequence number may occur several times.
        """
        fetch = _FIRST_FETCH
        while seq > 0:
            found, complete_from = self._nearby_sql(seq, _EARLIER, fetch)
            fetch = min(4 * fetch, _MAX_FETCH)
            yield from sorted((hit for hit in found if hit[0] >= complete_from), key=_by_seq, reverse=True)
            seq = complete_from - 1

    def later(self, seq: int) -> Iterator[tuple[int, int | None]]:
        """Like `earlier`, for events after `seq`, oldest first."""
        end = (_one(self._db, "SELECT max(seq) FROM marks", ()) or 0) + 1
        fetch = _FIRST_FETCH
        while seq < end:
            found, complete_to = self._nearby_sql(seq, _LATER, fetch)
            fetch = min(4 * fetch, _MAX_FETCH)
            complete_to = complete_to or end
            yield from sorted((hit for hit in found if hit[0] <= complete_to), key=_by_seq)
            seq = complete_to

    # -- one broker ------------------------------------------------------------------------------------------------

    def _queues(self, broker: int, seq: int) -> Cell | None:
        db, topic = self._db, self._topic
        gone = db.execute(
            "SELECT seq FROM ops WHERE broker = ? AND seq <= ? AND op = 0 ORDER BY seq DESC LIMIT 1", (broker, seq)
        ).fetchone()
        floor = 0 if gone is None else gone[0]
        queues: Cell | None = None
        row = db.execute(
            "SELECT seq, perm, read, write, flag FROM singles WHERE topic = ? AND broker = ? AND seq <= ? AND seq > ?"
            " ORDER BY seq DESC LIMIT 1",
            (topic, broker, seq, floor),
        ).fetchone()
        if row is not None:
            floor, *cell = row
            queues = None if cell[0] is None else (cell[0], cell[1], cell[2], cell[3])
        if self._held:
            pieces = db.execute(
                "SELECT seq, content FROM pieces WHERE bucket = ? AND broker = ? AND seq <= ? AND seq > ?"
                " ORDER BY seq DESC",
                (self._bucket, broker, seq, floor),
            )
            for at, content in pieces:
                if content in self._held:
                    floor, queues = at, self._held[content]
                    break
        if queues is None:
            return None
        ops = db.execute(
            "SELECT op FROM ops WHERE broker = ? AND seq > ? AND seq <= ? ORDER BY seq", (broker, floor, seq)
        )
        perm, *rest = queues
        for (op,) in ops:
            perm = PERM_READ | PERM_WRITE if op == Op.RESTORED else perm & ~PERM_WRITE
        return (perm, rest[0], rest[1], rest[2])

    def _ever_on(self) -> list[int]:
        """Return the brokers that ever had this topic or a mapping of it."""
        db, topic = self._db, self._topic
        brokers = {broker for (broker,) in db.execute("SELECT DISTINCT broker FROM singles WHERE topic = ?", (topic,))}
        checked: dict[int, bool] = {}
        for broker, content in db.execute("SELECT broker, content FROM laid WHERE bucket = ?", (self._bucket,)):
            if content not in checked:
                (body,) = db.execute("SELECT body FROM contents WHERE id = ?", (content,)).fetchone()
                checked[content], queues = find(unpack(body), topic)
                if checked[content]:
                    self._held[content] = queues
            if checked[content]:
                brokers.add(broker)
        return sorted(brokers)

    # -- changes ---------------------------------------------------------------------------------------------------

    def _nearby_sql(self, seq: int, sql: "_NearbySql", fetch: int) -> tuple[list[tuple[int, int | None]], int]:
        """Return candidates, and the sequence number up to which they are complete (0: to the end)."""
        found: list[tuple[int, int | None]] = []
        limits: list[int] = []
        wanted = {"topic": self._topic, "bucket": self._bucket, "seq": seq, "limit": fetch}
        sources = [(sql.mappings, None), *((sql.broker, broker) for broker in self.brokers)]
        for query, broker in sources:
            last: dict[int, list[int]] = {}
            for source, at, content in self._db.execute(query, {**wanted, "broker": broker}):
                last.setdefault(source, []).append(at)
                if content is None or content in self._held:
                    found.append((at, broker))
            limits += [numbers[-1] for numbers in last.values() if len(numbers) == fetch]
        if sql.descending:
            return found, max(limits, default=0)
        return found, min(limits, default=0)


class _NearbySql(msgspec.Struct, frozen=True):
    """The two queries for events near a sequence number, in one direction."""

    broker: str
    mappings: str
    descending: bool


def _nearby_sql(*, where: str, order: str) -> _NearbySql:
    def part(source: int, table: str, key: str, content: str = "NULL") -> str:
        return (
            f"SELECT * FROM (SELECT {source}, seq, {content} FROM {table} WHERE {key} AND seq {where} :seq "  # noqa: S608
            f"ORDER BY seq {order} LIMIT :limit)"
        )

    parts = (
        part(0, "singles", "topic = :topic AND broker = :broker"),
        part(1, "pieces", "bucket = :bucket AND broker = :broker", "content"),
        part(2, "ops", "broker = :broker"),
        part(3, "groups", "broker = :broker"),
    )
    mappings = part(4, "mappings", "topic = :topic AND :broker IS NULL")
    return _NearbySql(" UNION ALL ".join(parts), mappings, order == "DESC")


_EARLIER: Final = _nearby_sql(where="<=", order="DESC")
_LATER: Final = _nearby_sql(where=">", order="ASC")


def _by_seq(hit: tuple[int, int | None]) -> int:
    return hit[0]


def _one(db: sqlite3.Connection, sql: str, values: tuple[object, ...]) -> int | None:
    found = db.execute(sql, values).fetchone()[0]
    return None if found is None else int(found)
