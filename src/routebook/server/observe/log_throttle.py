"""Rate-limits repeated log lines: one per key per minute, with caps on keys and on lines per minute."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_INTERVAL_S: Final = 60.0
_MAX_KEYS: Final = 1024
_MAX_LINES_PER_MINUTE: Final = 120  # a PROXY header can claim any address, so keys alone do not bound the log


class LogThrottle:
    """Decides whether a line is logged, and counts the lines that were not."""

    __slots__ = ("_lines", "_logged", "_minute_start", "_time")

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self._logged: OrderedDict[str, tuple[float, int]] = OrderedDict()  # by key: when, and lines suppressed since
        self._minute_start = -_INTERVAL_S
        self._lines = 0  # in this minute

    def due(self, key: str) -> int | None:
        """None: do not log now. Otherwise the number of lines suppressed since the last one with this key."""
        now = self._time()
        logged_at, suppressed = self._logged.get(key, (-_INTERVAL_S, 0))
        if now - self._minute_start >= _INTERVAL_S:
            self._minute_start, self._lines = now, 0
        if now - logged_at < _INTERVAL_S:
            self._logged[key] = (logged_at, suppressed + 1)
            return None
        if self._lines >= _MAX_LINES_PER_MINUTE:
            return None
        self._lines += 1
        self._logged.pop(key, None)
        while len(self._logged) >= _MAX_KEYS:
            self._logged.popitem(last=False)
        self._logged[key] = (now, 0)
        return suppressed
