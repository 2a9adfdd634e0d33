"""Faults inside a server's process: Python imports this first where it stands in PYTHONPATH.

In the folder that CHAOS_FOLDER names, `clock` holds seconds by which the wall clock is wrong, and `fsync` seconds that
each fsync takes. Both may change at any time.
"""

import os
import pathlib
import time

_FOLDER = pathlib.Path(os.environ.get("CHAOS_FOLDER", "/nowhere"))
_LOOK_S = 0.05


class _Knob:
    """A number in a file, looked at now and then."""

    def __init__(self, name: str) -> None:
        self._path = _FOLDER / name
        self._value = 0.0
        self._looked = float("-inf")

    def value(self) -> float:
        now = time.monotonic()
        if now - self._looked > _LOOK_S:
            self._looked = now
            try:
                self._value = float(self._path.read_text())
            except (OSError, ValueError):
                self._value = 0.0
        return self._value


_clock, _fsync = _Knob("clock"), _Knob("fsync")
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
