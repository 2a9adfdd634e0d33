"""Event-loop lag: samples how late the loop runs a timer, which is how long a request may wait for its turn."""

import asyncio
from collections.abc import Callable
from time import perf_counter_ns
from typing import Final

from routebook.server.observe.latency import Histogram

_INTERVAL_S: Final = 0.25


class LoopLag:
    """Samples the lag into `histogram` between `start` and `stop`."""

    def __init__(self, on_sample: Callable[[float, float], None] | None = None) -> None:
        """`on_sample` receives the lag in seconds and when the next sample is due, by the loop's clock."""
        self.histogram = Histogram()
        self._on_sample = on_sample
        self._timer: asyncio.TimerHandle | None = None
        self._due_ns = 0

    def start(self) -> None:
        self._schedule(0.0)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self, lag_s: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + _INTERVAL_S
        self._due_ns = perf_counter_ns() + int(_INTERVAL_S * 1e9)  # uvloop's clock has a resolution of 1 ms
        self._timer = loop.call_at(due, self._sample)
        if self._on_sample is not None:
            self._on_sample(lag_s, due)

    def _sample(self) -> None:
        lag_ns = max(0, perf_counter_ns() - self._due_ns)
        self.histogram.add(lag_ns)
        self._schedule(lag_ns / 1e9)
