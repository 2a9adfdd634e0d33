"""The log of a single controller node: one SQLite file, every commit synced before it is acknowledged.

sets(name, state)               the current state of each set, JSON
events(seq, at_ms, name, event) the newest changes, for people who look into the file

Commits that wait at the same time share one transaction. A lock file keeps a second process from leading with the same
file: each would decide on its own copy of the sets, and overwrite the changes of the other.
"""

import asyncio
import contextlib
import fcntl
import os
import sqlite3
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from routebook.controller.state import BrokerSet, Event
from routebook.server.controller.log import LogError, LogListener, Node, NotLeader

FILE: Final = "controller.db"
LOCK: Final = "controller.lock"
MAX_EVENTS: Final = 10_000
_FORMAT: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS sets (name TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
  seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, name TEXT NOT NULL, event BLOB NOT NULL
);
"""

_encode = msgspec.json.Encoder().encode
_decode_set = msgspec.json.Decoder(BrokerSet).decode
_Change = tuple[Event, BrokerSet | None]


class SqliteLog:
    """Always leads. All access to the file happens on one thread."""

    def __init__(self, folder: Path, node: Node) -> None:
        self._path = folder / FILE
        self._node = node
        self._thread = ThreadPoolExecutor(1, "controller-log")
        self._database: sqlite3.Connection | None = None
        self._lock: int | None = None
        self._listener: LogListener | None = None
        self._waiting: deque[tuple[_Change, asyncio.Future[None]]] = deque()
        self._writer: asyncio.Task[None] | None = None  # while changes wait
        self.problem: str | None = None
        self.problems: dict[tuple[str, str], int] = {}

    @property
    def leader(self) -> Node | None:
        return self._node if self._database is not None else None

    @property
    def is_leader(self) -> bool:
        return self._database is not None

    async def start(self, listener: LogListener) -> None:
        sets = await asyncio.get_running_loop().run_in_executor(self._thread, self._open)
        self._listener = listener
        listener.on_sets(sets)
        listener.on_leading(True)

    async def commit(self, event: Event, state: BrokerSet | None) -> None:
        if self._database is None:
            raise NotLeader("the controller's log is closed")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(((event, state), done))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_waiting(), name="controller log")
        await done

    async def confirm(self) -> None:
        if self._database is None:
            raise NotLeader("the controller's log is closed")

    async def stop(self) -> None:
        if self._writer is not None:
            await self._writer
        database, self._database = self._database, None
        if database is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, database.close)
        self._thread.shutdown()
        self._unlock()

    async def _write_waiting(self) -> None:
        try:
            while self._waiting:
                batch = list(self._waiting)
                self._waiting.clear()
                error = await asyncio.get_running_loop().run_in_executor(
                    self._thread, self._write, [change for change, _ in batch]
                )
                self.problem = error
                if error is not None and self._listener is not None:
                    self._listener.on_problem(error)
                for (event, state), done in batch:
                    if error is None and self._listener is not None:
                        self._listener.on_set(event.broker, state)
                    if done.cancelled():
                        continue
                    if error is None:
                        done.set_result(None)
                    else:
                        done.set_exception(LogError(error))
        finally:
            self._writer = None

    def _open(self) -> dict[str, BrokerSet]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self._path.with_name(LOCK))
            database = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=FULL")
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version > _FORMAT:
                raise LogError(f"{self._path} has format {version}: start the release that wrote it")
            database.executescript(f"{_SCHEMA}PRAGMA user_version={_FORMAT};")
            sets = {name: _decode_set(state) for name, state in database.execute("SELECT name, state FROM sets")}
        except LogError:
            self._unlock()
            raise
        except (OSError, sqlite3.Error, msgspec.DecodeError) as error:
            self._unlock()
            raise LogError(f"cannot open {self._path}: {error}; check the file and its owner") from error
        self._database = database
        return sets

    def _unlock(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def _write(self, changes: list[_Change]) -> str | None:
        """Commit all changes in one transaction; the reason where that fails, and then nothing is committed."""
        database = self._database
        if database is None:
            return "the controller's log is closed"
        now_ms = time.time_ns() // 1_000_000
        try:
            database.execute("BEGIN IMMEDIATE")
            for event, state in changes:
                if state is None:
                    database.execute("DELETE FROM sets WHERE name = ?", (event.broker,))
                else:
                    database.execute("INSERT OR REPLACE INTO sets VALUES (?, ?)", (event.broker, _encode(state)))
                database.execute(
                    "INSERT INTO events(at_ms, name, event) VALUES (?, ?, ?)", (now_ms, event.broker, _encode(event))
                )
            database.execute("DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - ?", (MAX_EVENTS,))
            database.execute("COMMIT")
        except (sqlite3.Error, ValueError) as error:  # ValueError: text that is not Unicode
            with contextlib.suppress(sqlite3.Error):
                database.rollback()
            return f"cannot write {self._path}: {error}"
        return None


def _locked(path: Path) -> int:
    """Lock the file until its descriptor is closed. Raises LogError where another process has it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        why = "another Controller uses it" if isinstance(error, BlockingIOError) else error.strerror
        raise LogError(f"cannot lock {path}: {why}; stop that process, or choose another controllerStorePath") from None
    return lock
