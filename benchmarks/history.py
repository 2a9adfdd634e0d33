"""Measures the history index: indexing speed and size for a million events, and the latency of history queries.

    python -m benchmarks.history [--events 1000000] [--brokers 300] [--topics 2000] [--every-broker]

The journal is generated in a temporary folder: each broker registers a tenth of the topics (or all), then nine in ten
events are heartbeat minutes, and the rest are flapping brokers, topic changes and permission changes.
"""

import argparse
import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from routebook.events import (
    BrokerDown,
    BrokerUp,
    DownReason,
    Event,
    HeartbeatMinute,
    PermissionRestored,
    PermissionWiped,
    QueueChange,
    Queues,
    ServerStarted,
    TopicCause,
    TopicsChanged,
)
from routebook.history.index.follower import IndexFollower
from routebook.history.query.history import History
from routebook.journal.files import FolderFiles
from routebook.journal.record import RecordEncoder
from routebook.journal.write.backlog import Pending
from routebook.journal.write.open_segment import OpenSegment
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.rolling import roll_segment

BORN_MS = 1_731_700_000_000
STEP_MS = 200


class Fleet:
    """Brokers and their topics, as a source of journal events."""

    def __init__(self, *, brokers: int, topics: int, share: float) -> None:
        self.random = random.Random(7)
        self.topics = [f"topic-of-some-team-{n:05}" for n in range(topics)]
        self.on: dict[str, dict[str, Queues]] = {}
        for n in range(brokers):
            chosen = self.topics if share == 1 else self.random.sample(self.topics, int(share * topics))
            self.on[f"broker-{n:03}"] = {f"broker-{n:03}": Queues(7, 1, 1, 0)} | dict.fromkeys(
                sorted(chosen), Queues(6, 8, 8, 0)
            )

    def up(self, broker: str) -> list[Event]:
        came = BrokerUp(
            cluster="C", broker=broker, broker_id=0, addr=_addr(broker), timeout_ms=120_000, acting_master=False
        )
        return [came, TopicsChanged(broker=broker, cause=TopicCause.REGISTRATION, added=dict(self.on[broker]))]

    def down(self, broker: str) -> list[Event]:
        left = BrokerDown(cluster="C", broker=broker, broker_id=0, addr=_addr(broker), reason=DownReason.CLOSED)
        return [left, TopicsChanged(broker=broker, cause=TopicCause.REMOVAL, removed=tuple(self.on[broker]))]

    def random_events(self) -> list[Event]:
        """Return the events of one random request."""
        rng, broker = self.random.random(), self.random.choice(list(self.on))
        if rng < 0.9:
            return [HeartbeatMinute(cluster="C", broker=broker, addr=_addr(broker), minute_ms=0, count=2)]
        if rng < 0.9005:
            return [*self.down(broker), *self.up(broker)]
        if rng < 0.9015:
            return [PermissionWiped(broker=broker, topics=1), PermissionRestored(broker=broker, topics=1)]
        topic, held = self.random.choice(self.topics), self.on[broker]
        before = held.get(topic)
        if before is None:
            held[topic] = Queues(6, 8, 8, 0)
            change = TopicsChanged(broker=broker, cause=TopicCause.REGISTER_TOPIC, added={topic: held[topic]})
        elif rng < 0.92:
            del held[topic]
            change = TopicsChanged(broker=broker, cause=TopicCause.REGISTRATION, removed=(topic,))
        else:
            held[topic] = Queues(6, self.random.randrange(1, 17), 8, 0)
            changed = {topic: QueueChange(before, held[topic])}
            change = TopicsChanged(broker=broker, cause=TopicCause.REGISTRATION, changed=changed)
        return [change]


def _addr(broker: str) -> str:
    return f"10.0.0.{broker[-3:]}:10911"


def write(files: FolderFiles, fleet: Fleet, events: int) -> tuple[int, int]:
    """Write the journal; return the number of records and the time of the last one."""
    encoder, options = RecordEncoder(ns="n", boot="b"), JournalOptions(segment_bytes=64 << 20)
    segment = OpenSegment(files, options=options)
    seq, at_ms = 0, BORN_MS
    batch: list[Pending] = []
    waiting: list[Event] = [ServerStarted(version="0", listen="-")]
    coming = list(fleet.on)
    while seq < events:
        for event in waiting:
            seq += 1
            batch.append(Pending(seq, at_ms, encoder.line(event, seq=seq, at_ms=at_ms)))
        at_ms += STEP_MS
        waiting = fleet.up(coming.pop()) if coming else fleet.random_events()
        if len(batch) > 5000:
            segment.commit(batch, now_s=0)
            batch.clear()
    segment.commit(batch, now_s=0)
    segment.roll()
    for finished in segment.finished:
        roll_segment(files, finished.name, finished.span)
    return seq, at_ms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--brokers", type=int, default=300)
    parser.add_argument("--topics", type=int, default=2000)
    parser.add_argument("--every-broker", action="store_true", help="each broker has all topics instead of a tenth")
    parser.add_argument("--questions", type=int, default=500)
    given = parser.parse_args()
    fleet = Fleet(brokers=given.brokers, topics=given.topics, share=1.0 if given.every_broker else 0.1)
    with TemporaryDirectory() as folder:
        files, path = FolderFiles(Path(folder) / "journal"), Path(folder) / "history.db"
        began = time.perf_counter()
        records, until_ms = write(files, fleet, given.events)
        size = sum(files.size(name) for name in files.names())
        print(f"journal   {records:,} records, {size / 1e6:.1f} MB compressed, in {time.perf_counter() - began:.1f} s")
        index(path, files, records)
        ask(path, fleet, until_ms, given.questions)


def index(path: Path, files: FolderFiles, records: int) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    follower = IndexFollower(path, files, rest=0)
    follower.start()
    while follower.status().state != "following":
        time.sleep(0.05)
    took = time.perf_counter() - began
    follower.stop()
    size = path.stat().st_size
    print(
        f"indexed   {records / took:,.0f} records/s ({took:.1f} s, {time.process_time() - cpu:.1f} s of CPU),"
        f" index {size / 1e6:.1f} MB"
    )


def ask(path: Path, fleet: Fleet, until_ms: int, questions: int) -> None:
    history, rng = History(path), random.Random(3)
    for name, question in (
        ("route_at", lambda: history.route_at(rng.choice(fleet.topics), rng.randrange(BORN_MS, until_ms))),
        ("timeline", lambda: history.timeline(rng.choice(fleet.topics), limit=20)),
        ("brokers_at", lambda: history.brokers_at(rng.randrange(BORN_MS, until_ms))),
    ):
        times = []
        for _ in range(questions):
            began = time.perf_counter()
            question()
            times.append(1000 * (time.perf_counter() - began))
        times.sort()
        p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
        print(f"{name:<11}p50 {p50:.1f} ms, p99 {p99:.1f} ms, max {times[-1]:.1f} ms of {questions}")
    history.close()


if __name__ == "__main__":
    main()
