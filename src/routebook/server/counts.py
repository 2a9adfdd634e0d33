"""How many requests and answers of each code went by since somebody last looked."""

from collections import defaultdict


class Counts:
    """Counters that the connections bump and housekeeping empties. Java: RemotingCodeDistributionHandler."""

    __slots__ = ("requests", "responses")

    def __init__(self) -> None:
        self.requests: defaultdict[int, int] = defaultdict(int)
        self.responses: defaultdict[int, int] = defaultdict(int)

    def take(self) -> tuple[str | None, str | None]:
        """Both distributions in Java's form, `{105:3, 322:1}`, or None where there was nothing; and begin anew."""
        taken = _distribution(self.requests), _distribution(self.responses)
        self.requests.clear()
        self.responses.clear()
        return taken


def _distribution(counts: dict[int, int]) -> str | None:
    if not counts:
        return None
    return "{" + ", ".join(f"{code}:{count}" for code, count in sorted(counts.items())) + "}"
