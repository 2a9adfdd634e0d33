"""Says something about somebody at most once a minute, of all together at most so much, and remembers only so many."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_EVERY_S: Final = 60.0
_MOST: Final = 1024  # whom it remembers
_MOST_A_MINUTE: Final = 120  # a PROXY header can claim any address, so addresses alone are no bound


class LogThrottle:
    """Strangers that come again and again must not fill the log, nor this table."""

    __slots__ = ("_minute_began", "_said", "_said_this_minute", "_time")

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self._said: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._minute_began = -_EVERY_S
        self._said_this_minute = 0

    def due(self, who: str) -> int | None:
        """None: not now. Otherwise how often it was not said since the last time."""
        now = self._time()
        said_at, unsaid = self._said.get(who, (-_EVERY_S, 0))
        if now - self._minute_began >= _EVERY_S:
            self._minute_began, self._said_this_minute = now, 0
        if now - said_at < _EVERY_S:
            self._said[who] = (said_at, unsaid + 1)
            return None
        if self._said_this_minute >= _MOST_A_MINUTE:
            return None
        self._said_this_minute += 1
        self._said.pop(who, None)
        while len(self._said) >= _MOST:
            self._said.popitem(last=False)
        self._said[who] = (now, 0)
        return unsaid
