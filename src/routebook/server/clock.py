"""The time that the core is given: wall-clock milliseconds that never jump.

A lease is the difference of two of these. If the machine's clock is stepped (NTP at start-up, a suspended virtual
machine, an operator), leases measured by it would all run out at once, or not at all. So the wall clock is read once,
and from then on the monotonic clock counts; it follows NTP's gentle corrections and ignores steps.
"""

import time


class Clock:
    """Call `now_ms` for milliseconds since the epoch."""

    __slots__ = ("_offset",)

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now_ms(self) -> int:
        return int((time.monotonic() + self._offset) * 1000)

    @staticmethod
    def wall_ms() -> int:
        """What a watch on the wall shows, jumps and all: for records, which are compared with those of others."""
        return time.time_ns() // 1_000_000
