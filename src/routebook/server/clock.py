"""The server's clock: milliseconds since the epoch that never jump.

A lease is the difference of two of these times. If the wall clock is stepped (NTP at start-up, a suspended virtual
machine, an operator), all leases would expire at once, or never. So the wall clock is read once at the start, and the
monotonic clock is added to it; that clock follows NTP's gradual corrections and ignores steps.
"""

import time


class Clock:
    """`now_ms` for leases, `wall_ms` for records."""

    __slots__ = ("_offset",)

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now_ms(self) -> int:
        return int((time.monotonic() + self._offset) * 1000)

    @staticmethod
    def wall_ms() -> int:
        """The wall clock, including steps: records are compared with those of other servers."""
        return time.time_ns() // 1_000_000
