"""Counts of one Controller node, for metrics: requests, commits and elections."""

import time
from collections import Counter, defaultdict

from routebook.controller.codes import ControllerRequest
from routebook.controller_events import ElectionCause
from routebook.server.observe.latency import Histogram

_KNOWN = frozenset(map(int, ControllerRequest))


class ControllerMeter:
    """`requests` by request code (0: unknown) and response code, `elections` by result and cause."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[int, int]] = Counter()
        self.latencies: defaultdict[int, Histogram] = defaultdict(Histogram)
        self.elections: Counter[tuple[str, str]] = Counter()
        self.commits: Counter[str] = Counter()
        self.commit_latency = Histogram()

    def answered(self, code: int, response: int, began_ns: int) -> None:
        """Count a request that was received at `began_ns` (perf_counter_ns)."""
        code = code if code in _KNOWN else 0
        self.requests[code, response] += 1
        self.latencies[code].add(time.perf_counter_ns() - began_ns)

    def elected(self, result: str, cause: ElectionCause) -> None:
        self.elections[result, cause.value] += 1

    def committed(self, began_ns: int) -> None:
        """Count a commit that began at `began_ns` (perf_counter_ns)."""
        self.commits["committed"] += 1
        self.commit_latency.add(time.perf_counter_ns() - began_ns)

    def not_committed(self, *, certain: bool) -> None:
        """Count a commit that was refused, or whose outcome is not known."""
        self.commits["refused" if certain else "unknown"] += 1
