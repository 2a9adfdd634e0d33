"""Latency histograms of requests and of the event loop, in power-of-two buckets.

Bucket n counts values from 2**(n-1) up to, but not including, 2**n microseconds.
"""

import asyncio
from time import perf_counter_ns
from typing import Final

from routebook.codes import RequestCode

BUCKETS: Final = 64
_SAMPLE_S: Final = 0.5


class Histogram:
    """Counts per bucket, and the sum of all values."""

    __slots__ = ("cells",)

    def __init__(self) -> None:
        self.cells = [0] * (BUCKETS + 1)  # the last cell is the sum in ns

    def add(self, elapsed_ns: int) -> None:
        cells = self.cells
        cells[(elapsed_ns // 1000).bit_length()] += 1
        cells[BUCKETS] += elapsed_ns

    @property
    def counts(self) -> list[int]:
        return self.cells[:BUCKETS]

    @property
    def total_ns(self) -> int:
        return self.cells[BUCKETS]


class Latencies:
    """Time from the bytes of a request to the bytes of its answer, per request code.

    Requests that arrive in one read are answered by one write and counted once, in `several`.
    """

    __slots__ = ("_cells", "_look_up", "by_code", "others", "several")

    def __init__(self) -> None:
        self.by_code = {int(code): Histogram() for code in RequestCode}
        self.others = Histogram()  # unknown request codes
        self.several = Histogram()
        self._cells = {code: histogram.cells for code, histogram in self.by_code.items()}
        self._look_up = self._cells[RequestCode.GET_ROUTEINFO_BY_TOPIC]

    def add(self, code: int, requests: int, elapsed_ns: int) -> None:
        # hot path: Histogram.add inlined
        cells = self.several.cells if requests != 1 else self._cells.get(code) or self.others.cells
        cells[(elapsed_ns // 1000).bit_length()] += 1
        cells[BUCKETS] += elapsed_ns

    def look_up(self, elapsed_ns: int) -> None:
        """Count a read with one route look-up, the most frequent case."""
        cells = self._look_up
        cells[(elapsed_ns // 1000).bit_length()] += 1
        cells[BUCKETS] += elapsed_ns


class LoopDelay:
    """Samples the event loop's lag: how late a timer fires."""

    def __init__(self) -> None:
        self.histogram = Histogram()
        self._timer: asyncio.TimerHandle | None = None
        self._due_ns = 0

    def start(self) -> None:
        self._due_ns = perf_counter_ns() + int(_SAMPLE_S * 1e9)
        self._timer = asyncio.get_running_loop().call_later(_SAMPLE_S, self._sample)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sample(self) -> None:
        self.histogram.add(max(0, perf_counter_ns() - self._due_ns))
        self.start()
