"""Faults inside a server process: Python imports this module at start if its folder is in PYTHONPATH.

In the folder CHAOS_FOLDER, the file `clock` holds the error of the wall clock in seconds, and `fsync` the delay of each
fsync in seconds. Both can change at any time.
"""

import os
import pathlib
import time

_FOLDER = pathlib.Path(os.environ.get("CHAOS_FOLDER", "/nowhere"))
_READ_S = 0.05


class _Switch:
    """A number in a file, read again every 50 ms."""

    def __init__(self, name: str) -> None:
        self._path = _FOLDER / name
        self._value = 0.0
        self._read_at = float("-inf")

    def value(self) -> float:
        now = time.monotonic()
        if now - self._read_at > _READ_S:
            self._read_at = now
            try:
                self._value = float(self._path.read_text())
            except (OSError, ValueError):
                self._value = 0.0
        return self._value


_clock, _fsync = _Switch("clock"), _Switch("fsync")
_time, _time_ns, _os_fsync, _os_fdatasync = time.time, time.time_ns, os.fsync, os.fdatasync


def _slow_fsync(fd: int) -> None:
    time.sleep(_fsync.value())
    _os_fsync(fd)


def _slow_fdatasync(fd: int) -> None:
    time.sleep(_fsync.value())
    _os_fdatasync(fd)


time.time = lambda: _time() + _clock.value()
time.time_ns = lambda: _time_ns() + int(_clock.value() * 1e9)
os.fsync, os.fdatasync = _slow_fsync, _slow_fdatasync  # type: ignore[assignment]  # any file there is has a number
