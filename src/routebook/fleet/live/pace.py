"""Real time, or the same faster: a scale of 10 makes every period and every fault ten times as short."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from routebook.errors import UsageError

MOST_SCALE = 1000.0


class Pace(msgspec.Struct, frozen=True):
    """Times are given as they would be in a real fleet."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.scale <= MOST_SCALE:
            raise UsageError(f"time scale {self.scale:g}: give more than 0, and at most {MOST_SCALE:g}")

    def s(self, fleet_ms: float) -> float:
        """So many seconds of real time."""
        return fleet_ms / 1000 / self.scale

    async def sleep(self, fleet_ms: float) -> None:
        """Let so much of the fleet's time pass."""
        await asyncio.sleep(self.s(fleet_ms))

    async def every(self, period_ms: float, *, first_ms: float = 0) -> AsyncIterator[int]:
        """Ticks at a fixed rate, numbered. Who is late gets one at once and is then on time again; none is made up for.

        Java's scheduler makes up for all that were missed, in a burst.
        """
        loop = asyncio.get_running_loop()
        period = max(self.s(period_ms), 0.001)
        due = loop.time() + self.s(first_ms)
        number = 0
        while True:
            await asyncio.sleep(max(0.0, due - loop.time()))
            yield number
            number += 1
            behind = loop.time() - due
            due += period * max(1, int(behind / period + 1))
