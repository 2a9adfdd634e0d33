"""Latency histograms of requests, in power-of-two buckets.

Bucket n counts values from 2**(n-1) up to, but not including, 2**n microseconds.
"""

from typing import Final

from routebook.codes import RequestCode

BUCKETS: Final = 64


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
