"""Time scale of a live run: with a scale of 10, every period and every fault is ten times shorter."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from routebook.errors import UsageError

MAX_TIME_SCALE = 1000.0


class TimeScale(msgspec.Struct, frozen=True):
    """Converts times of the fleet to real time."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.scale <= MAX_TIME_SCALE:
            raise UsageError(f"time scale {self.scale:g}: must be greater than 0 and at most {MAX_TIME_SCALE:g}")

    def seconds(self, fleet_ms: float) -> float:
        """Return the real seconds for a time of the fleet."""
        return fleet_ms / 1000 / self.scale

    async def sleep(self, fleet_ms: float) -> None:
        """Sleep for a time of the fleet."""
        await asyncio.sleep(self.seconds(fleet_ms))

    async def every(self, period_ms: float, *, first_ms: float = 0) -> AsyncIterator[int]:
        """Yield tick numbers at a fixed rate. A late consumer gets one tick at once; missed ticks are skipped.

        Java's scheduler repeats all missed ticks in a burst.
        """
        loop = asyncio.get_running_loop()
        period = max(self.seconds(period_ms), 0.001)
        due = loop.time() + self.seconds(first_ms)
        number = 0
        while True:
            await asyncio.sleep(max(0.0, due - loop.time()))
            yield number
            number += 1
            behind = loop.time() - due
            due += period * max(1, int(behind / period + 1))
