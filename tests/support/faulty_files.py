"""A folder in memory that loses unsynced data, crashes at a chosen call, or fails with a chosen error."""

import errno
import io
import os
import random
from typing import BinaryIO

from routebook.journal.files import AppendFile


class Crash(BaseException):
    """Simulates the end of the process. A BaseException, so that no handler catches it."""


class _File:
    """The first `synced` bytes are on disk; the rest is in the page cache."""

    __slots__ = ("data", "synced")

    def __init__(self, data: bytes = b"", synced: int = 0) -> None:
        self.data = bytearray(data)
        self.synced = synced


class FaultyFiles:
    """Journal files with faults.

    `crash_in` counts calls that change something: at 0 the call is done, or half done, or not done, and Crash is
    raised. `error` is raised instead of every such call while it is set; appending then leaves half of the data.
    """

    def __init__(self, files: dict[str, _File] | None = None, *, rng: random.Random | None = None) -> None:
        self.files = files if files is not None else {}
        self.rng = rng or random.Random(0)
        self.crash_in: int | None = None
        self.error: int | None = None
        self.calls: list[str] = []
        self._crashed = False

    @classmethod
    def holding(cls, **texts: bytes) -> "FaultyFiles":
        return cls({name: _File(data, len(data)) for name, data in texts.items()})

    def after_crash(self) -> "FaultyFiles":
        """The files after a crash: all synced data, and of the rest a prefix or unwritten blocks."""
        kept: dict[str, _File] = {}
        for name, file in self.files.items():
            cached = bytes(file.data[file.synced :])
            survives = cached[: self.rng.randint(0, len(cached))]
            if cached and self.rng.random() < 0.2:
                survives += bytes(self.rng.randint(0, 50))
            data = bytes(file.data[: file.synced]) + survives
            kept[name] = _File(data, len(data))
        return FaultyFiles(kept, rng=self.rng)

    def put(self, name: str, data: bytes) -> None:
        """Replace the content from outside, as an operator or a bad disk does."""
        self.files[name] = _File(data, len(data))

    def text(self, name: str) -> bytes:
        return bytes(self.files[name].data)

    # -- Files ---------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        return sorted(self.files)

    def size(self, name: str) -> int:
        return len(self._existing(name).data)

    def open(self, name: str) -> BinaryIO:
        return io.BytesIO(bytes(self._existing(name).data))

    def create(self, name: str) -> AppendFile:
        done = self._begin(f"create {name}")
        if done:
            if name in self.files:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
            self.files[name] = _File()
        self._end()
        return _Appending(self, name, self.files[name])

    def overwrite(self, name: str, data: bytes) -> None:
        if self._begin(f"overwrite {name}"):
            self.files[name] = _File(data, len(data))
        elif self._crashed:
            old = self.files.get(name, _File()).data
            cut = self.rng.randint(0, len(data))
            torn = data[:cut] + bytes(old[cut:])
            self.files[name] = _File(torn, len(torn))
        self._end()

    def truncate(self, name: str, size: int) -> None:
        if self._begin(f"truncate {name}"):
            file = self._existing(name)
            if len(file.data) < size:
                raise FileNotFoundError(errno.ENOENT, "shorter than that", name)
            del file.data[size:]
            file.synced = size
        self._end()

    def rename(self, old: str, new: str) -> None:
        if self._begin(f"rename {old}"):
            self.files[new] = self._existing(old)
            del self.files[old]
        self._end()

    def remove(self, name: str) -> None:
        if self._begin(f"remove {name}"):
            self.files.pop(name, None)
        self._end()

    # -- faults --------------------------------------------------------------------------------------------------

    def _begin(self, call: str) -> bool:
        """Whether to execute the call: the one at which the crash happens may take effect or not."""
        self.calls.append(call)
        if self.error is not None:
            raise OSError(self.error, os.strerror(self.error), call)
        if self.crash_in is None:
            return True
        self.crash_in -= 1
        if self.crash_in >= 0:
            return True
        self._crashed = True
        return self.rng.random() < 0.5

    def _end(self) -> None:
        if self._crashed:
            raise Crash

    def _existing(self, name: str) -> _File:
        if name not in self.files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return self.files[name]


class _Appending:
    def __init__(self, files: FaultyFiles, name: str, file: _File) -> None:
        self._files = files
        self._name = name
        self._file = file

    def append(self, data: bytes) -> None:
        try:
            done = self._files._begin(f"append {self._name}")
        except OSError:
            self._file.data += data[: len(data) // 2]
            raise
        self._file.data += data if done else data[: self._files.rng.randint(0, len(data))]
        self._files._end()

    def sync(self) -> None:
        if self._files._begin(f"sync {self._name}"):
            self._file.synced = len(self._file.data)
        self._files._end()
        if self._files.files.get(self._name) is not self._file:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._name)

    def close(self) -> None:
        pass
