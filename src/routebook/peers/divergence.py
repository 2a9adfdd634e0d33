"""A difference that lasts is news; one that is on its way from a broker to both NameServers is not. Pure."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from routebook.disagreements import Disagreement, Kind
from routebook.events import PeerAgreed, PeerDiverged

_NAMED: Final = 20  # of topics and of brokers, in an event


class Difference(NamedTuple):
    """One thing that two NameServers tell otherwise. A broker that one lacks is one thing, with all its topics."""

    kind: Kind
    subject: str
    topic: str = ""

    @property
    def broker(self) -> str:
        return self.subject.partition(" id ")[0] if self.kind is Kind.MEMBER else self.subject


def differences_of(found: Iterable[Disagreement]) -> list[Difference]:
    """Each thing by itself."""
    return [
        Difference(one.kind, one.subject, topic)
        for one in found
        for topic in ((one.topics if one.kind is not Kind.BROKER else ()) or ("",))
    ]


class Divergence:
    """What differs from one peer, since when."""

    def __init__(self, peer: str, *, lasting_ms: int) -> None:
        self.peer = peer
        self.since: dict[Difference, int] = {}
        self.diverged_since_ms: int | None = None
        self._lasting_ms = lasting_ms

    @property
    def topics(self) -> list[str]:
        """Those to look at again in any case."""
        return sorted({difference.topic for difference in self.since if difference.topic})

    def lasting(self, now_ms: int) -> list[Difference]:
        """What has differed for longer than a change needs to arrive everywhere."""
        return [difference for difference, since in self.since.items() if now_ms - since >= self._lasting_ms]

    def compared(
        self, found: Sequence[Disagreement], now_ms: int, *, looked_at: Callable[[str], bool] = lambda _topic: True
    ) -> list[PeerDiverged | PeerAgreed]:
        """What a round found; what it tells. `looked_at`: whether the round looked at this topic."""
        current = differences_of(found)
        unseen = [old for old in self.since if old.topic and not looked_at(old.topic)]
        self.since = {difference: self.since.get(difference, now_ms) for difference in (*current, *unseen)}
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
            topics=tuple(topics[:_NAMED]),
            brokers=tuple(brokers[:_NAMED]),
        )
