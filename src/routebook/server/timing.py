"""How long requests take and how late the event loop is, in buckets of powers of two: cheap enough to do always.

bucket n holds values below 2**n microseconds, and not below half of that
"""

import asyncio
from time import perf_counter_ns
from typing import Final

from routebook.codes import RequestCode

BUCKETS: Final = 24  # up to 8 s; the last one takes the rest
_LOOK_S: Final = 0.5


class Histogram:
    """Counts by bucket, and their sum."""

    __slots__ = ("counts", "total_ns")

    def __init__(self) -> None:
        self.counts = [0] * (BUCKETS + 1)
        self.total_ns = 0

    def add(self, elapsed_ns: int) -> None:
        bucket = (elapsed_ns // 1000).bit_length()
        self.counts[bucket if bucket < BUCKETS else BUCKETS] += 1
        self.total_ns += elapsed_ns


class Latencies:
    """From a request's bytes to its answer's, per kind of request.

    A read that brought several requests is answered by one write, so they share one time, which `several` has.
    """

    __slots__ = ("by_code", "others", "several")

    def __init__(self) -> None:
        self.by_code = {int(code): Histogram() for code in RequestCode}
        self.others = Histogram()  # codes that nobody handles
        self.several = Histogram()

    def add(self, code: int, requests: int, elapsed_ns: int) -> None:
        (self.by_code.get(code, self.others) if requests == 1 else self.several).add(elapsed_ns)


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
