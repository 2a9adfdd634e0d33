"""How many requests and answers of each code went by: since somebody last looked, and since the start."""

from collections import defaultdict
from typing import Final

from routebook.codes import RequestCode, ResponseCode

_REQUESTS: Final = frozenset(map(int, RequestCode))
_RESPONSES: Final = frozenset(map(int, ResponseCode))
OTHER: Final = -1


class RequestCounts:
    """Counters that the connections bump and housekeeping empties. Java: RemotingCodeDistributionHandler."""

    __slots__ = ("_all_requests", "_all_responses", "look_ups", "requests", "responses")

    def __init__(self) -> None:
        self.requests: defaultdict[int, int] = defaultdict(int)
        self.responses: defaultdict[int, int] = defaultdict(int)
        self.look_ups = 0  # that were known and answered at once: not in the two above yet
        self._all_requests: dict[int, int] = {}
        self._all_responses: dict[int, int] = {}

    def take(self) -> tuple[str | None, str | None]:
        """Both distributions in Java's form, `{105:3, 322:1}`, or None where there was nothing; and begin anew."""
        self._count_look_ups()
        taken = _distribution(self.requests), _distribution(self.responses)
        self._all_requests, self._all_responses = self.totals()
        self.requests.clear()
        self.responses.clear()
        return taken

    def totals(self) -> tuple[dict[int, int], dict[int, int]]:
        """Both since the start; codes that mean nothing here, which a peer can make up at will, as OTHER."""
        self._count_look_ups()
        return (
            _sum(self._all_requests, self.requests, known=_REQUESTS),
            _sum(self._all_responses, self.responses, known=_RESPONSES),
        )

    def _count_look_ups(self) -> None:
        if self.look_ups:
            self.requests[int(RequestCode.GET_ROUTEINFO_BY_TOPIC)] += self.look_ups
            self.responses[int(ResponseCode.SUCCESS)] += self.look_ups
            self.look_ups = 0


def _sum(before: dict[int, int], since: dict[int, int], *, known: frozenset[int]) -> dict[int, int]:
    sums = dict(before)
    for code, count in since.items():
        code = code if code in known else OTHER
        sums[code] = sums.get(code, 0) + count
    return sums


def _distribution(counts: dict[int, int]) -> str | None:
    if not counts:
        return None
    return "{" + ", ".join(f"{code}:{count}" for code, count in sorted(counts.items())) + "}"
