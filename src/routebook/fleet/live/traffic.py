"""What went over the wire, counted: requests by code, answers by code, and what went wrong."""

from collections import Counter


class Traffic:
    """Shared by all of a fleet."""

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.answers: Counter[int] = Counter()
        self.timeouts = 0
        self.failures = 0  # connections that could not be opened, or broke with a request under way
        self.connected = 0

    @property
    def total(self) -> int:
        """All requests."""
        return sum(self.requests.values())
