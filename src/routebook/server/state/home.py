"""The home folder: everything one NameServer keeps, held by one process at a time.

lock           held while the process lives; says who holds it
identity.json  {"ns":"…"}: the stable id of this NameServer, made at the first start
"""

import errno
import fcntl
import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from routebook.errors import HomeError
from routebook.server.state.atomic_file import write_atomically

_LOCK_WANTED_BY_ANOTHER: Final = frozenset({errno.EWOULDBLOCK, errno.EACCES})


class Identity(msgspec.Struct, frozen=True):
    """Who this NameServer is."""

    ns: str


class Home:
    """An open home folder. Whoever has one is alone in it until `close`."""

    def __init__(self, path: Path, *, identity: Identity, lock: int) -> None:
        self.path = path
        self.ns = identity.ns
        self._lock: int | None = lock

    @classmethod
    def open(cls, path: Path) -> Self:
        """Make the folder where it is missing, lock it, and read or make the identity."""
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError:
            raise HomeError(f"{path} is not a folder; give a folder with --home") from None
        except OSError as error:
            raise HomeError(f"home folder {path} cannot be made: {_reason(error)}; give another with --home") from None
        lock = _locked(path / "lock")
        try:
            return cls(path, identity=_identity(path / "identity.json"), lock=lock)
        except BaseException:
            os.close(lock)
            raise

    def close(self) -> None:
        """Let another process have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def default_home(environ: Mapping[str, str]) -> Path:
    """ROUTEBOOK_HOME, or .routebook in the user's home folder."""
    try:
        return Path(environ.get("ROUTEBOOK_HOME") or "~/.routebook").expanduser()
    except RuntimeError:
        raise HomeError("there is no home folder for this user; give one with --home or ROUTEBOOK_HOME") from None


def _locked(path: Path) -> int:
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise HomeError(
            f"home folder {path.parent} cannot be used: {path.name}: {_reason(error)};"
            " make it writable for this user, or give another with --home"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(lock, 200, 0).decode("utf-8", "replace").split()
        os.close(lock)
        if error.errno not in _LOCK_WANTED_BY_ANOTHER:
            raise HomeError(f"home folder {path.parent} cannot be locked: {_reason(error)}") from None
        who = f"process {holder[0]} since {holder[1]}" if len(holder) == 2 else "another process"
        raise HomeError(
            f"home folder {path.parent} is in use by {who}; stop that one, or give this one another with --home"
        ) from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()} {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}\n".encode(), 0)
    return lock


def _identity(path: Path) -> Identity:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Identity)
        if not found.ns:
            raise msgspec.ValidationError("`ns` is empty")
    except FileNotFoundError:
        return _new_identity(path)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HomeError(
            f"{path} cannot be read: {error}; put it back from a backup, or remove it and this NameServer gets a new id"
        ) from None
    except OSError as error:
        raise HomeError(f"{path} cannot be read: {_reason(error)}; make it readable for this user") from None
    return found


def _new_identity(path: Path) -> Identity:
    identity = Identity(f"ns-{secrets.token_hex(6)}")
    try:
        write_atomically(path, msgspec.json.encode(identity) + b"\n")
    except OSError as error:
        raise HomeError(
            f"{path} cannot be written: {_reason(error)}; make {path.parent} writable for this user,"
            " or give another with --home"
        ) from None
    return identity


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
