"""The file system interface of the journal: one flat folder.

Changes of the folder are on disk when the call returns, appended data after `sync`. Every call may raise OSError.
"""

import contextlib
import errno
import os
from pathlib import Path
from typing import BinaryIO, Protocol

_sync_data = getattr(os, "fdatasync", os.fsync)  # macOS has only fsync


class AppendFile(Protocol):
    """A file opened for appending."""

    def append(self, data: bytes) -> None: ...

    def sync(self) -> None:
        """Sync appended data; fails if the file was removed or replaced."""

    def close(self) -> None: ...


class Files(Protocol):
    """A folder. Tests have an in-memory implementation with faults."""

    def names(self) -> list[str]:
        """Return all file names, sorted; none if the folder does not exist."""

    def size(self, name: str) -> int: ...

    def open(self, name: str) -> BinaryIO:
        """Open for reading."""

    def create(self, name: str) -> AppendFile:
        """Create a file, which must not exist, and the folder if needed."""

    def overwrite(self, name: str, data: bytes) -> None:
        """Overwrite the beginning of a file in place, which needs no disk space if the file exists."""

    def truncate(self, name: str, size: int) -> None:
        """Shorten a file; FileNotFoundError if it is shorter than `size`."""

    def rename(self, old: str, new: str) -> None:
        """Rename atomically, replacing `new` if it exists."""

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""


class FolderFiles:
    """A folder on disk."""

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
                raise FileNotFoundError(errno.ENOENT, "file is shorter than what was written to it", str(file.name))
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
    """An open file of a FolderFiles."""

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
        # Writes to a removed file succeed, but the data is lost.
        if not os.path.samestat(os.fstat(self._descriptor), self._path.stat()):
            raise FileNotFoundError(errno.ENOENT, "file was replaced", str(self._path))

    def close(self) -> None:
        with contextlib.suppress(OSError):  # the data was synced before
            os.close(self._descriptor)
