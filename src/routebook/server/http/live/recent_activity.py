"""Recent activity in bounded memory: brokers that left or registered, heartbeats and look-ups per minute."""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Container, Iterable, Mapping
from typing import Final, NamedTuple

from routebook.events import (
    BrokerChanged,
    BrokerDown,
    BrokerUp,
    DownReason,
    HeartbeatMinute,
    LookupMinute,
    TopicCause,
    TopicDeleted,
    TopicsChanged,
)
from routebook.history.query.members import Gone, returning
from routebook.history.query.sessions import Session
from routebook.journal.record import Record
from routebook.model import BrokerKey

LOST_MS: Final = 24 * 3_600_000  # how long a broker that left is shown as down
BEAT_MINUTES: Final = 180
LOOKUP_MINUTES: Final = 15
_MAX_LOOKUPS: Final = 15_000  # rows
_MAX_LOST: Final = 5_000
_MAX_BEATS: Final = 10_000  # addresses
_MAX_LOST_TOPICS: Final = 50_000
_MINUTE_MS: Final = 60_000
_TRIM_MINUTES: Final = 15  # old histogram entries are removed in batches
_MAX_COUNT: Final = 65_535
_MAX_UINT32: Final = 2**32 - 1


class Lost(NamedTuple):
    """A broker that left and has not returned."""

    name: str
    broker_id: int
    addr: str
    cluster: str
    at_ms: int
    reason: str


class Registered(NamedTuple):
    """Since when an address is registered, and its id."""

    at_ms: int
    broker_id: int


class Beats:
    """Heartbeats of one address in the last three hours: one slot per minute, by the minute's number."""

    __slots__ = ("_gaps", "broker", "counts", "last", "max_gaps_ms")

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.last = 0  # number of the newest minute
        self.counts = array("H", bytes(2 * BEAT_MINUTES))
        self.max_gaps_ms = array("I", bytes(4 * BEAT_MINUTES))
        self._gaps = array("I")  # histogram entries, oldest first: minute, bucket, count, minute, ...

    def add(self, event: HeartbeatMinute) -> None:
        number = event.minute_ms // _MINUTE_MS
        if number < self.last:
            return  # the clock was set back
        for passed in range(max(self.last + 1, number - BEAT_MINUTES + 1), number + 1):
            self.counts[passed % BEAT_MINUTES] = self.max_gaps_ms[passed % BEAT_MINUTES] = 0
        self.broker, self.last = event.broker, number
        slot = number % BEAT_MINUTES
        self.counts[slot] = min(self.counts[slot] + event.count, _MAX_COUNT)
        self.max_gaps_ms[slot] = min(max(self.max_gaps_ms[slot], event.max_gap_ms), _MAX_UINT32)
        if self._gaps and self._gaps[0] < number - BEAT_MINUTES - _TRIM_MINUTES:
            self._gaps = self._gaps[self._start(number) :]
        for bucket, count in event.gaps_ms.items():
            self._gaps.extend((number, min(bucket, _MAX_UINT32), min(count, _MAX_UINT32)))

    def minutes(self, now_ms: int) -> list[tuple[int, int, int]]:
        """Start, heartbeats and longest gap of each minute with a heartbeat, oldest first."""
        first = max(self.last, now_ms // _MINUTE_MS) - BEAT_MINUTES + 1
        slots = ((number, number % BEAT_MINUTES) for number in range(first, self.last + 1))
        return [
            (number * _MINUTE_MS, self.counts[slot], self.max_gaps_ms[slot])
            for number, slot in slots
            if self.counts[slot]
        ]

    def gaps(self, now_ms: int) -> dict[int, int]:
        """Histogram of the gaps between heartbeats."""
        sums: dict[int, int] = {}
        start = self._start(max(self.last, now_ms // _MINUTE_MS))
        for bucket, count in zip(self._gaps[start + 1 :: 3], self._gaps[start + 2 :: 3], strict=True):
            sums[bucket] = sums.get(bucket, 0) + count
        return sums

    def _start(self, newest: int) -> int:
        """Index of the first histogram entry in the three hours that end with minute `newest`."""
        return 3 * bisect_right(self._gaps[::3], newest - BEAT_MINUTES)


class RecentActivity:
    """Updated with journal records in order."""

    def __init__(self, *, since_ms: int) -> None:
        self.since_ms = since_ms
        self.lost: dict[tuple[str, str], Lost] = {}  # by broker name and address
        self._lost_of: dict[str, dict[tuple[str, str], Lost]] = {}  # the same, by broker name
        self.lost_topics: dict[str, int] = {}  # removed with a broker, and when; some may have other brokers
        self.registered: dict[str, dict[str, Registered]] = {}  # by broker name, then by address
        self.beats: dict[BrokerKey, Beats] = {}  # the one that sent last is the last
        self.lookups: deque[LookupMinute] = deque(maxlen=_MAX_LOOKUPS)
        self.read_only: frozenset[str] = frozenset()  # groups without write permission
        self.primed = False

    def add(self, records: Iterable[Record]) -> None:
        for record in records:
            match record.event:
                case BrokerUp() as event:
                    self._registered(event, record.at)
                case BrokerChanged() as event:
                    self._changed(event)
                case BrokerDown() as event:
                    self._left(event, record.at)
                case TopicsChanged() as event:
                    self._topics_changed(event, record.at)
                case TopicDeleted() as event:
                    self.lost_topics.pop(event.topic, None)
                case HeartbeatMinute() as event:
                    self._add_beats(event)
                case LookupMinute() as event:
                    self.lookups.append(event)
                case _:
                    pass

    def prime(self, groups: Mapping[str, list[Session]], *, since_ms: int) -> None:
        """Add the sessions before this start from history, and brokers that left since a time.

        Newer records take precedence.
        """
        self.primed = True
        for name, sessions in groups.items():
            members = self.registered.get(name, {})
            for session in {session.member: session for session in sessions}.values():
                key = (name, session.addr)
                if session.to_ms is None:
                    members.setdefault(session.addr, Registered(session.from_ms, session.broker_id))
                elif (
                    session.to_ms >= since_ms
                    and key not in self.lost
                    and session.addr not in members
                    and session.ended in set(DownReason) - {DownReason.REPLACED}
                ):
                    self._lose(
                        Lost(name, session.broker_id, session.addr, session.cluster, session.to_ms, session.ended)
                    )
            if members:
                self.registered[name] = members

    def topics_without_route(self, current: Container[str]) -> list[str]:
        """Topics that were removed with their last broker within a day; `current` are the topics with a route."""
        for topic in [topic for topic in self.lost_topics if topic in current]:
            del self.lost_topics[topic]
        return sorted(self.lost_topics)

    def expire(self, now_ms: int) -> None:
        """Remove old entries."""
        for topic in [topic for topic, at_ms in self.lost_topics.items() if now_ms - at_ms > LOST_MS]:
            del self.lost_topics[topic]
        for key in [key for key, lost in self.lost.items() if now_ms - lost.at_ms > LOST_MS]:
            self._found(key)
        while self.lookups and self.lookups[0].minute_ms < now_ms - (LOOKUP_MINUTES + 1) * _MINUTE_MS:
            self.lookups.popleft()
        oldest = now_ms // _MINUTE_MS - BEAT_MINUTES
        for key in [key for key, beats in self.beats.items() if beats.last < oldest]:
            del self.beats[key]

    def _registered(self, event: BrokerUp, at_ms: int) -> None:
        """A broker returned, under any address, or came for the first time."""
        members = self.registered.setdefault(event.broker, {})
        lost = self._lost_of.get(event.broker, {}).values()
        gone = [Gone(number, one.broker_id, one.addr, one.at_ms) for number, one in enumerate(lost)]
        taken = {one.broker_id for one in members.values()}
        if (found := returning(gone, event.broker_id, event.addr, taken)) is not None:
            self._found((event.broker, found.addr))
        members[event.addr] = Registered(at_ms, event.broker_id)

    def _changed(self, event: BrokerChanged) -> None:
        self._found((event.broker, event.addr))
        members = self.registered.get(event.broker, {})
        if (known := members.get(event.addr)) is not None:
            members[event.addr] = known._replace(broker_id=event.broker_id)

    def _left(self, event: BrokerDown, at_ms: int) -> None:
        members = self.registered.get(event.broker, {})
        members.pop(event.addr, None)
        if not members:
            self.registered.pop(event.broker, None)
        if event.reason is not DownReason.REPLACED:
            reason = event.reason.value
            self._lose(Lost(event.broker, event.broker_id, event.addr, event.cluster, at_ms, reason))

    def _lose(self, lost: Lost) -> None:
        key = (lost.name, lost.addr)
        self.lost[key] = self._lost_of.setdefault(lost.name, {})[key] = lost
        if len(self.lost) > _MAX_LOST:
            self._found(next(iter(self.lost)))

    def _found(self, key: tuple[str, str]) -> None:
        """Remove a broker from the lost ones: it has returned, or the table is full."""
        if self.lost.pop(key, None) is not None:
            of_name = self._lost_of[key[0]]
            del of_name[key]
            if not of_name:
                del self._lost_of[key[0]]

    def _topics_changed(self, event: TopicsChanged, at_ms: int) -> None:
        for topic in event.added:
            self.lost_topics.pop(topic, None)
        if event.cause is TopicCause.REMOVAL:
            room = max(0, _MAX_LOST_TOPICS - len(self.lost_topics))
            self.lost_topics |= dict.fromkeys(event.removed[:room], at_ms)

    def _add_beats(self, event: HeartbeatMinute) -> None:
        key = BrokerKey(event.cluster, event.addr)
        beats = self.beats[key] = self.beats.pop(key) if key in self.beats else Beats(event.broker)
        beats.add(event)
        if len(self.beats) > _MAX_BEATS:
            del self.beats[next(iter(self.beats))]
