"""The little that the journal asks of a file system: one folder, flat, names without a path.

What changes the folder is on disk when the call returns; what is appended is on disk after `sync`. Every call may
raise OSError.
"""

import contextlib
import errno
import os
from pathlib import Path
from typing import BinaryIO, Protocol

_sync_data = getattr(os, "fdatasync", os.fsync)  # macOS has fsync alone


class AppendFile(Protocol):
    """A file that is written at its end."""

    def append(self, data: bytes) -> None: ...

    def sync(self) -> None:
        """All that was appended is on disk, and still reachable by the file's name."""

    def close(self) -> None: ...


class Files(Protocol):
    """A folder."""

    def names(self) -> list[str]:
        """All files there, sorted; none if there is no folder."""

    def size(self, name: str) -> int: ...

    def open(self, name: str) -> BinaryIO:
        """Read it from its beginning."""

    def create(self, name: str) -> AppendFile:
        """A new file, and the folder if need be; there must be none of that name."""

    def overwrite(self, name: str, data: bytes) -> None:
        """Write a few bytes over a file's beginning, in place: that needs no space if it is there already."""

    def truncate(self, name: str, size: int) -> None:
        """Shorten it; FileNotFoundError if it is not that long."""

    def rename(self, old: str, new: str) -> None:
        """Atomically, in the place of `new` if there is one."""

    def remove(self, name: str) -> None:
        """Fine if it is gone already."""


class FolderFiles:
    """A real folder."""

    __slots__ = ("folder",)

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        try:
            return sorted(entry.name for entry in os.scandir(self.folder) if entry.is_file())
        except FileNotFoundError:
            return []

    def size(self, name: str) -> int:
        return (self.folder / name).stat().st_size

    def open(self, name: str) -> BinaryIO:
        return (self.folder / name).open("rb", buffering=0)

    def create(self, name: str) -> AppendFile:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / name
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o640)
        self._sync_folder()
        return _FolderFile(path, descriptor)

    def overwrite(self, name: str, data: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / name
        new = not path.exists()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            if os.pwrite(descriptor, data, 0) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if new:
            self._sync_folder()

    def truncate(self, name: str, size: int) -> None:
        with (self.folder / name).open("r+b", buffering=0) as file:
            if os.fstat(file.fileno()).st_size < size:
                raise FileNotFoundError(errno.ENOENT, "it is shorter than what was written to it", str(file.name))
            file.truncate(size)
            os.fsync(file.fileno())

    def rename(self, old: str, new: str) -> None:
        (self.folder / old).replace(self.folder / new)
        self._sync_folder()

    def remove(self, name: str) -> None:
        try:
            (self.folder / name).unlink()
        except FileNotFoundError:
            return
        self._sync_folder()

    def _sync_folder(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _FolderFile:
    """A real file."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    def append(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def sync(self) -> None:
        _sync_data(self._descriptor)
        # A file that was removed, or whose folder was, takes writes as ever; they only lead nowhere.
        if not os.path.samestat(os.fstat(self._descriptor), self._path.stat()):
            raise FileNotFoundError(errno.ENOENT, "another file has taken its place", str(self._path))

    def close(self) -> None:
        with contextlib.suppress(OSError):  # all that matters was synced before
            os.close(self._descriptor)
