"""Counts requests and responses per code: since the last log line, and since the start."""

from collections import defaultdict
from typing import Final

from routebook.codes import RequestCode, ResponseCode

_REQUESTS: Final = frozenset(map(int, RequestCode))
_RESPONSES: Final = frozenset(map(int, ResponseCode))
_LOOKUP: Final = int(RequestCode.GET_ROUTEINFO_BY_TOPIC)
OTHER: Final = -1


class RequestCounts:
    """Counters that connections increment and housekeeping resets. Java: RemotingCodeDistributionHandler."""

    __slots__ = ("_all_requests", "_all_responses", "look_ups", "requests", "responses")

    def __init__(self) -> None:
        self.requests: defaultdict[int, int] = defaultdict(int)
        self.responses: defaultdict[int, int] = defaultdict(int)
        self.look_ups = 0  # found in the cache; not yet added to the two above
        self._all_requests: dict[int, int] = {}
        self._all_responses: dict[int, int] = {}

    def add_look_ups(self, count: int, *, missing: int) -> None:
        """Count look-ups that were answered from the cache; `missing` of them have no route."""
        self.look_ups += count - missing
        if missing:
            self.requests[_LOOKUP] += missing
            self.responses[int(ResponseCode.TOPIC_NOT_EXIST)] += missing

    def take(self) -> tuple[str | None, str | None]:
        """Return both distributions in Java's format, `{105:3, 322:1}`, None if empty, and reset them."""
        self._count_look_ups()
        taken = _distribution(self.requests), _distribution(self.responses)
        self._all_requests, self._all_responses = self.totals()
        self.requests.clear()
        self.responses.clear()
        return taken

    def totals(self) -> tuple[dict[int, int], dict[int, int]]:
        """Requests and responses since the start; unknown codes, which any peer can send, count as OTHER."""
        self._count_look_ups()
        return (
            _add(self._all_requests, self.requests, known=_REQUESTS),
            _add(self._all_responses, self.responses, known=_RESPONSES),
        )

    def _count_look_ups(self) -> None:
        if self.look_ups:
            self.requests[_LOOKUP] += self.look_ups
            self.responses[int(ResponseCode.SUCCESS)] += self.look_ups
            self.look_ups = 0


def _add(before: dict[int, int], since: dict[int, int], *, known: frozenset[int]) -> dict[int, int]:
    sums = dict(before)
    for code, count in since.items():
        code = code if code in known else OTHER
        sums[code] = sums.get(code, 0) + count
    return sums


def _distribution(counts: dict[int, int]) -> str | None:
    if not counts:
        return None
    return "{" + ", ".join(f"{code}:{count}" for code, count in sorted(counts.items())) + "}"
