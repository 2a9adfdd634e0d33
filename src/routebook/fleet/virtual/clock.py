"""Virtual time: a heap of scheduled calls, and random network delays."""

import heapq
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Final, TypeAlias

from routebook.fleet.virtual.broker import VirtualConnection

_MAX_NETWORK_MS: Final = 30

Call: TypeAlias = Callable[[int], None]  # receives the time
ConnectionCall: TypeAlias = Callable[[VirtualConnection, int], None]


class VirtualClock:
    """Runs scheduled calls in order of time; calls at the same time in order of scheduling."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._queue: list[tuple[int, int, Call]] = []
        self._order = count()

    def call_at(self, at_ms: int, call: Call) -> None:
        """Schedule a call."""
        heapq.heappush(self._queue, (at_ms, next(self._order), call))

    def call_soon(self, now_ms: int, call: Call) -> None:
        """Schedule a call after a network delay."""
        self.call_at(now_ms + self.rng.randint(1, _MAX_NETWORK_MS), call)

    def call_at_for(self, conn: VirtualConnection, at_ms: int, call: ConnectionCall) -> None:
        """Schedule a call for a connection; `conn.cancel_planned` cancels it."""
        generation = conn.generation

        def if_current(now_ms: int) -> None:
            if conn.generation == generation:
                call(conn, now_ms)

        self.call_at(at_ms, if_current)

    def call_soon_for(self, conn: VirtualConnection, now_ms: int, call: ConnectionCall) -> None:
        """Schedule a call for a connection after a network delay."""
        self.call_at_for(conn, now_ms + self.rng.randint(1, _MAX_NETWORK_MS), call)

    def run_until(self, end_ms: int, on_hour: Callable[[int], None] | None = None) -> None:
        """Run all calls up to a time. `on_hour` is called once per hour of virtual time."""
        queue = self._queue
        hour = 0
        while queue and queue[0][0] <= end_ms:
            now_ms, _, call = heapq.heappop(queue)
            call(now_ms)
            if on_hour is not None and now_ms // 3_600_000 != hour:
                hour = now_ms // 3_600_000
                on_hour(now_ms)
