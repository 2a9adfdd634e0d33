"""Small journal folders written event by event, and the history index over them."""

from pathlib import Path

from routebook.events import (
    BrokerDown,
    BrokerUp,
    DownReason,
    Event,
    Queues,
    ServerStarted,
    TopicCause,
    TopicsChanged,
)
from routebook.history.index.follower import IndexFollower
from routebook.history.query.answers import PastRoute
from routebook.history.query.history import History
from routebook.history.query.offline import open_offline
from routebook.journal.files import FolderFiles
from routebook.journal.record import RecordEncoder
from routebook.journal.write.backlog import Pending
from routebook.journal.write.open_segment import OpenSegment
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.rolling import roll_segment

BORN = 1_731_700_000_000
RW = Queues(6, 8, 8, 0)
STARTED = ServerStarted(version="1", listen="127.0.0.1:9876")


def up(broker: str = "a", addr: str = "h:1", broker_id: int = 0, zone: str | None = None) -> BrokerUp:
    return BrokerUp(
        cluster="C", broker=broker, broker_id=broker_id, addr=addr, timeout_ms=120_000, acting_master=False, zone=zone
    )


def down(broker: str = "a", addr: str = "h:1", reason: DownReason = DownReason.EXPIRED) -> BrokerDown:
    return BrokerDown(cluster="C", broker=broker, broker_id=0, addr=addr, reason=reason)


def added(*topics: str, broker: str = "a") -> TopicsChanged:
    return TopicsChanged(broker=broker, cause=TopicCause.REGISTRATION, added=dict.fromkeys(topics, RW))


def gone(*topics: str, broker: str = "a") -> TopicsChanged:
    return TopicsChanged(broker=broker, cause=TopicCause.REMOVAL, removed=topics)


class Journal:
    """A journal folder; each call of `write` adds the events of one request as a segment."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.files = FolderFiles(home / "journal")
        self.seq = 0
        self.boot = "b1"

    def write(self, at_s: float, *events: Event, roll: bool = True) -> int:
        encoder = RecordEncoder(ns="n", boot=self.boot)
        batch = []
        for event in events:
            self.seq += 1
            at_ms = BORN + int(at_s * 1000)
            batch.append(Pending(self.seq, at_ms, encoder.line(event, seq=self.seq, at_ms=at_ms)))
        segment = OpenSegment(self.files, options=JournalOptions())
        segment.commit(batch, now_s=0)
        segment.roll()
        if roll:
            (finished,) = segment.finished
            roll_segment(self.files, finished.name, finished.span)
        return self.seq


def route_at(journal: Journal, topic: str, at_s: float) -> PastRoute:
    """Query the history without a running server."""
    with open_offline(journal.home) as history:
        return history.route_at(topic, BORN + int(at_s * 1000))


def broker_names(past: PastRoute) -> list[str] | None:
    return None if past.route is None else [data.broker_name for data in past.route.broker_datas]


class IndexRun:
    """An index that follower after follower continues; `catch_up` indexes the journal to its end."""

    def __init__(self, journal: Journal) -> None:
        self.path = journal.home / "history.db"
        self.journal = journal
        self.logged: list[str] = []
        self.follower: IndexFollower | None = None

    def catch_up(self) -> IndexFollower:
        """Stopping a follower indexes the rest of the journal."""
        self.stop()
        self.follower = IndexFollower(self.path, self.journal.files, rest=0, log=self.logged.append)
        self.follower.start()
        self.follower.stop()
        return self.follower

    def stop(self) -> None:
        if self.follower is not None:
            self.follower.stop()

    def route_at(self, topic: str, at_s: float) -> PastRoute:
        history = History(self.path)
        try:
            return history.route_at(topic, BORN + int(at_s * 1000))
        finally:
            history.close()
