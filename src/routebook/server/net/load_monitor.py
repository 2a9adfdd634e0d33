"""Overload detection: the server is busy while the event loop lags behind by more than a limit."""

import math
from collections.abc import Callable


class LoadMonitor:
    """Busy starts at the limit and ends below half of it.

    After a long stall, requests may run before the next sample of the loop lag. A request that runs after `late_at`
    therefore calls `check`.
    """

    def __init__(self, limit_ms: int, on_change: Callable[[bool], None]) -> None:
        """`limit_ms` 0: never busy."""
        self._limit_s = limit_ms / 1000 or math.inf
        self._on_change = on_change
        self._due = 0.0
        self.late_at = math.inf
        self.is_busy = False

    def sample(self, lag_s: float, next_due: float) -> None:
        """Decide by a sample of the loop lag. The next one is due at `next_due`, by the loop's clock."""
        self._due = next_due
        self.late_at = next_due + self._limit_s
        self._decide(lag_s)

    def check(self, now: float) -> None:
        """Decide by how late the next sample is, at `now` by the loop's clock."""
        self._decide(now - self._due)

    def _decide(self, lag_s: float) -> None:
        is_busy = lag_s >= (self._limit_s / 2 if self.is_busy else self._limit_s)
        if is_busy != self.is_busy:
            self.is_busy = is_busy
            self._on_change(is_busy)
