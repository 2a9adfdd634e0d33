"""How long requests take and how late the event loop is, in buckets of powers of two: cheap enough to do always.

bucket n holds values below 2**n microseconds, and not below half of that
"""

import asyncio
from time import perf_counter_ns
from typing import Final

from routebook.codes import RequestCode

BUCKETS: Final = 64
_LOOK_S: Final = 0.5


class Histogram:
    """Counts by bucket, and the sum of what was counted."""

    __slots__ = ("cells",)

    def __init__(self) -> None:
        self.cells = [0] * (BUCKETS + 1)  # the last one is the sum, in ns

    def add(self, elapsed_ns: int) -> None:
        """At most some hundred years."""
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
    """From a request's bytes to its answer's, per kind of request.

    A read that brought several requests is answered by one write, so they share one time, which `several` has.
    """

    __slots__ = ("_cells", "_look_up", "by_code", "others", "several")

    def __init__(self) -> None:
        self.by_code = {int(code): Histogram() for code in RequestCode}
        self.others = Histogram()  # codes that nobody handles
        self.several = Histogram()
        self._cells = {code: histogram.cells for code, histogram in self.by_code.items()}
        self._look_up = self._cells[RequestCode.GET_ROUTEINFO_BY_TOPIC]

    def add(self, code: int, requests: int, elapsed_ns: int) -> None:
        # once per read: Histogram.add by hand
        cells = self.several.cells if requests != 1 else self._cells.get(code) or self.others.cells
        cells[(elapsed_ns // 1000).bit_length()] += 1
        cells[BUCKETS] += elapsed_ns

    def look_up(self, elapsed_ns: int) -> None:
        """One of them: what nearly every read brings."""
        cells = self._look_up
        cells[(elapsed_ns // 1000).bit_length()] += 1
        cells[BUCKETS] += elapsed_ns


class LoopDelay:
    """Sleeps, and looks how much too late it wakes: so long a request may have to wait for its turn."""

    def __init__(self) -> None:
        self.histogram = Histogram()
        self._timer: asyncio.TimerHandle | None = None
        self._due_ns = 0

    def start(self) -> None:
        self._due_ns = perf_counter_ns() + int(_LOOK_S * 1e9)
        self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self.histogram.add(max(0, perf_counter_ns() - self._due_ns))
        self.start()
