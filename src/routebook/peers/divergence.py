"""Tracks differences from a peer and reports those that last longer than a change needs to reach both. Pure."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from routebook.disagreements import Disagreement, Kind
from routebook.events import PeerAgreed, PeerDiverged

_MAX_NAMES: Final = 20  # topics and brokers in an event


class Difference(NamedTuple):
    """One difference between two NameServers. A missing broker with all its topics is one difference."""

    kind: Kind
    subject: str
    topic: str = ""

    @property
    def broker(self) -> str:
        return self.subject.partition(" id ")[0] if self.kind is Kind.MEMBER else self.subject


def differences_of(found: Iterable[Disagreement]) -> list[Difference]:
    """Split disagreements into single differences."""
    return [
        Difference(one.kind, one.subject, topic)
        for one in found
        for topic in ((one.topics if one.kind is not Kind.BROKER else ()) or ("",))
    ]


class Divergence:
    """The differences from one peer, each with its start time."""

    def __init__(self, peer: str, *, lasting_ms: int) -> None:
        self.peer = peer
        self.since: dict[Difference, int] = {}
        self.diverged_since_ms: int | None = None
        self._lasting_ms = lasting_ms

    @property
    def topics(self) -> list[str]:
        """Topics with a known difference, to compare in every round."""
        return sorted({difference.topic for difference in self.since if difference.topic})

    def lasting(self, now_ms: int) -> list[Difference]:
        """Return differences that have lasted longer than the limit."""
        return [difference for difference, since in self.since.items() if now_ms - since >= self._lasting_ms]

    def update(
        self, found: Sequence[Disagreement], now_ms: int, *, was_compared: Callable[[str], bool] = lambda _topic: True
    ) -> list[PeerDiverged | PeerAgreed]:
        """Record the result of a round and return the events. `was_compared`: whether the round compared this topic."""
        current = differences_of(found)
        not_compared = [old for old in self.since if old.topic and not was_compared(old.topic)]
        self.since = {difference: self.since.get(difference, now_ms) for difference in (*current, *not_compared)}
        lasting = self.lasting(now_ms)
        if lasting and self.diverged_since_ms is None:
            self.diverged_since_ms = min(self.since[difference] for difference in lasting)
            return [self._diverged(lasting, self.diverged_since_ms)]
        if not lasting and self.diverged_since_ms is not None:
            since_ms, self.diverged_since_ms = self.diverged_since_ms, None
            return [PeerAgreed(peer=self.peer, diverged_ms=now_ms - since_ms)]
        return []

    def _diverged(self, lasting: Sequence[Difference], since_ms: int) -> PeerDiverged:
        topics = sorted({difference.topic for difference in lasting if difference.topic})
        brokers = sorted({difference.broker for difference in lasting if difference.kind is not Kind.ORDER})
        return PeerDiverged(
            peer=self.peer,
            since_ms=since_ms,
            differences=len(lasting),
            topics=tuple(topics[:_MAX_NAMES]),
            brokers=tuple(brokers[:_MAX_NAMES]),
        )
