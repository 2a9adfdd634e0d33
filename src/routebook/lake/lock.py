"""One build at a time: a lock on the lake's folder, which says who has it."""

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
    """Who builds."""

    pid: int
    host: str
    what: str
    since: str


class LakeLock:
    """The lock of one lake. The descriptor goes to Spark's process, too: should this one be killed, the lock is held
    until that one has ended, which may still be writing.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UsageError(f"--lake {folder}: {error.strerror}; it must be a folder that can be written") from None

    def take(self, what: str) -> None:
        """Raises LakeBusy, which names who has it."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LakeBusy(f"{self._path.parent}: {self._who()}; wait for it to end, or give another --lake") from None
        holder = Holder(os.getpid(), socket.gethostname(), what, datetime.now(UTC).isoformat(timespec="seconds"))
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, msgspec.json.encode(holder), 0)

    def give_back(self) -> None:
        """Somebody else may build."""
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """No more use of it."""
        os.close(self.descriptor)

    def _who(self) -> str:
        try:
            holder = msgspec.json.decode(self._path.read_bytes(), type=Holder)
        except (OSError, msgspec.DecodeError):
            return "another process builds this lake just now"
        return f"process {holder.pid} on {holder.host} is at it since {holder.since} (lake {holder.what})"
