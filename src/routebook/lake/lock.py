"""A file lock that allows one build per lake at a time and records its holder."""

import fcntl
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from routebook.errors import UsageError
from routebook.lake.errors import LakeBusy

NAME: Final = "building.lock"


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
