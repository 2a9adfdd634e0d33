"""Journal folders written by hand: a few brokers that come and go, a second apart."""

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
    """A journal folder that is written by hand: each call is what one request brought about."""

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
        log = OpenSegment(self.files, options=JournalOptions())
        log.commit(batch, now_s=0)
        log.roll()
        if roll:
            (finished,) = log.finished
            roll_segment(self.files, finished.name, finished.span)
        return self.seq
