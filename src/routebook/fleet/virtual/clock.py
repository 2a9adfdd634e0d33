"""Virtual time: what is to be done, in order; and how long the network takes, by chance."""

import heapq
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Final, TypeAlias

from routebook.fleet.virtual.broker import VirtualLine

_NETWORK_MS: Final = 30

Step: TypeAlias = Callable[[int], None]  # told the time
LineStep: TypeAlias = Callable[[VirtualLine, int], None]


class VirtualTime:
    """A heap of steps."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self._queue: list[tuple[int, int, Step]] = []
        self._order = count()

    def at(self, at_ms: int, step: Step) -> None:
        """Do this then; of two at one time, the first that was planned."""
        heapq.heappush(self._queue, (at_ms, next(self._order), step))

    def soon(self, now_ms: int, step: Step) -> None:
        """When the network has carried it."""
        self.at(now_ms + self.draw.randint(1, _NETWORK_MS), step)

    def for_line(self, line: VirtualLine, at_ms: int, step: LineStep) -> None:
        """Do this then, unless the line's plan is another one by then."""
        plan = line.plan

        def if_still_planned(now_ms: int) -> None:
            if line.plan == plan:
                step(line, now_ms)

        self.at(at_ms, if_still_planned)

    def soon_for(self, line: VirtualLine, now_ms: int, step: LineStep) -> None:
        """The same, when the network has carried it."""
        self.for_line(line, now_ms + self.draw.randint(1, _NETWORK_MS), step)

    def run_until(self, end_ms: int, on_hour: Callable[[int], None] | None = None) -> None:
        """Go through all steps up to then. `on_hour` hears the time once an hour."""
        queue = self._queue
        hour = 0
        while queue and queue[0][0] <= end_ms:
            now_ms, _, step = heapq.heappop(queue)
            step(now_ms)
            if on_hour is not None and now_ms // 3_600_000 != hour:
                hour = now_ms // 3_600_000
                on_hour(now_ms)
