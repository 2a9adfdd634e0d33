"""Notices when requests wait too long for their turn, and when that is over."""

import asyncio
import math
from collections.abc import Callable
from typing import Final

_LOOK_S: Final = 0.25


class Pressure:
    """Sleeps, and looks how much too late it wakes: so long a request has waited that came meanwhile.

    Busy begins at the limit and ends below half of it. Whoever is to be served after `late_at` is late, too, and calls
    `look`: after a stand-still requests may get their turn before this does.
    """

    def __init__(self, limit_ms: int, changed: Callable[[bool], None]) -> None:
        """`limit_ms` 0: never busy."""
        self._limit_s = limit_ms / 1000
        self._changed = changed
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self.late_at = math.inf
        self.busy = False

    def start(self) -> None:
        if self._limit_s:
            self._sleep()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.late_at = math.inf

    def woke(self, late_s: float) -> None:
        """Decide by how late it was."""
        busy = late_s >= (self._limit_s / 2 if self.busy else self._limit_s)
        if busy != self.busy:
            self.busy = busy
            self._changed(busy)

    def look(self, now: float) -> None:
        """By the loop's clock."""
        self.woke(now - self._due)

    def _sleep(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + _LOOK_S
        self.late_at = self._due + self._limit_s
        self._timer = loop.call_at(self._due, self._wake)

    def _wake(self) -> None:
        self.look(asyncio.get_running_loop().time())
        self._sleep()
