"""Locks that allow one build per lake at a time and name their holder: a file, or a lock of the catalog's database."""

import contextlib
import fcntl
import os
import socket
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from routebook.errors import UsageError
from routebook.lake.config import LakeConfig
from routebook.lake.errors import LakeBusy
from routebook.lake.postgres import catalog_error, connect, connection_errors

if TYPE_CHECKING:
    from pg8000.native import Connection  # type: ignore[import-untyped]  # pg8000 has no types

NAME: Final = "building.lock"


class Lock(Protocol):
    """The lock of one lake."""

    def acquire(self, what: str) -> None:
        """Raises LakeBusy with the name of the holder."""

    def release(self) -> None: ...

    def close(self) -> None: ...


def lock_of(config: LakeConfig) -> Lock | None:
    """The lock of a lake; None if its catalog has none: two builds at once are then found when they publish."""
    if config.catalog.type == "postgresql":
        return PostgresLock(config)
    return None if config.folder is None else LakeLock(config.folder)


class Holder(msgspec.Struct, frozen=True):
    """The process that holds the lock."""

    pid: int
    host: str
    what: str
    since: str


class LakeLock:
    """The lock of one lake, held by this process alone: Spark's process does not inherit it.

    If this process is killed, the lock is free at once, while Spark's process ends when its standard input closes. A
    commit of Spark in between fails the check of the next build before it publishes.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UsageError(f"--lake {folder}: {error.strerror}; choose a folder that this user can write") from None

    def acquire(self, what: str) -> None:
        """Raises LakeBusy with the name of the holder."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LakeBusy(f"{self._path.parent}: {self._holder()}; wait for it, or use another --lake") from None
        holder = Holder(os.getpid(), socket.gethostname(), what, datetime.now(UTC).isoformat(timespec="seconds"))
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, msgspec.json.encode(holder), 0)

    def release(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)

    def _holder(self) -> str:
        try:
            holder = msgspec.json.decode(self._path.read_bytes(), type=Holder)
        except (OSError, msgspec.DecodeError):
            return "another process is building this lake"
        return f"process {holder.pid} on {holder.host} has been building it since {holder.since} (lake {holder.what})"


class PostgresLock:
    """A session lock of PostgreSQL: free as soon as the connection of its holder ends."""

    def __init__(self, config: LakeConfig) -> None:
        self._config = config
        self._key = int.from_bytes(blake2b(config.location.encode(), digest_size=7).digest())
        self._connection: Connection | None = None

    def acquire(self, what: str) -> None:
        self.close()
        self._connection = connect(self._config, what=what)
        if self._run("SELECT pg_try_advisory_lock(:key)") == [[True]]:
            return
        names = self._run(
            "SELECT application_name || ' since ' || backend_start::text "
            "FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted "
            "AND (classid::bigint << 32) + objid::bigint = :key"
        )
        holder = names[0][0] if names else "another process"
        self.close()
        raise LakeBusy(f"{self._config.given}: {holder} is building it; wait for it, or use another --lake")

    def release(self) -> None:
        self.close()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(*connection_errors()):  # the server may be away
                connection.close()

    def _run(self, sql: str) -> "list[list[object]]":
        assert self._connection is not None  # noqa: S101  # connected
        try:
            return list(self._connection.run(sql, key=self._key) or [])
        except connection_errors() as error:
            raise catalog_error(self._config, error) from None
