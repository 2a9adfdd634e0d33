"""Measures how late the operating system runs this process, so that time limits can allow for a busy machine."""

import threading
import time
from types import TracebackType
from typing import Self

_INTERVAL_S = 0.02


class LagMeter:
    """`worst_s` is the longest delay of a thread that sleeps for short intervals, since the start of the context."""

    def __init__(self) -> None:
        self.worst_s = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._measure, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def _measure(self) -> None:
        while not self._stopped.is_set():
            due = time.monotonic() + _INTERVAL_S
            self._stopped.wait(_INTERVAL_S)
            self.worst_s = max(self.worst_s, time.monotonic() - due)
