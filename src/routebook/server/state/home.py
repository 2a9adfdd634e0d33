"""The home folder: all state of one NameServer, locked by one process at a time.

lock           locked while the process runs; contains its pid and start time
identity.json  {"ns":"…"}: the stable id of this NameServer, created at the first start
"""

import contextlib
import errno
import fcntl
import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

import msgspec

from routebook.errors import HomeError
from routebook.server.state.atomic_file import write_atomically

_LOCK_HELD: Final = frozenset({errno.EWOULDBLOCK, errno.EACCES})


class Identity(msgspec.Struct, frozen=True):
    """The content of identity.json."""

    ns: str


class Home:
    """An open home folder, locked until `close`."""

    def __init__(self, path: Path, *, identity: Identity, lock: int, is_new: bool = False) -> None:
        """`is_new`: the identity was created by this start."""
        self.path = path
        self.ns = identity.ns
        self.is_new = is_new
        self._lock: int | None = lock

    @classmethod
    def open(cls, path: Path) -> Self:
        """Create the folder if it is missing, lock it, and read or create the identity."""
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError:
            raise HomeError(f"{path} is not a folder; pass a folder with --home") from None
        except OSError as error:
            raise HomeError(f"cannot create home folder {path}: {_reason(error)}; pass another with --home") from None
        with contextlib.ExitStack() as on_error:
            lock = _lock(path / "lock")
            on_error.callback(os.close, lock)
            is_new = not (path / "identity.json").exists()
            home = cls(path, identity=_identity(path / "identity.json"), lock=lock, is_new=is_new)
            on_error.pop_all()
        return home

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def default_home(environ: Mapping[str, str]) -> Path:
    """ROUTEBOOK_HOME, or .routebook in the user's home folder."""
    try:
        return Path(environ.get("ROUTEBOOK_HOME") or "~/.routebook").expanduser()
    except RuntimeError:
        raise HomeError("this user has no home folder; pass one with --home or ROUTEBOOK_HOME") from None


def _lock(path: Path) -> int:
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise HomeError(
            f"cannot use home folder {path.parent}: {path.name}: {_reason(error)};"
            " make it writable for this user, or pass another with --home"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(lock, 200, 0).decode("utf-8", "replace").split()
        os.close(lock)
        if error.errno not in _LOCK_HELD:
            raise HomeError(f"cannot lock home folder {path.parent}: {_reason(error)}") from None
        who = f"process {holder[0]} since {holder[1]}" if len(holder) == 2 else "another process"
        raise HomeError(
            f"home folder {path.parent} is in use by {who}; stop that process, or pass another folder with --home"
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
            f"cannot read {path}: {error}; restore it from a backup, or remove it to give this NameServer a new id"
        ) from None
    except OSError as error:
        raise HomeError(f"cannot read {path}: {_reason(error)}; make it readable for this user") from None
    return found


def _new_identity(path: Path) -> Identity:
    identity = Identity(f"ns-{secrets.token_hex(6)}")
    try:
        write_atomically(path, msgspec.json.encode(identity) + b"\n")
    except OSError as error:
        raise HomeError(
            f"cannot write {path}: {_reason(error)}; make {path.parent} writable for this user,"
            " or pass another with --home"
        ) from None
    return identity


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
