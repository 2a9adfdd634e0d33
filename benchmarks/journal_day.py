"""Measures the journal size of one day of a steady fleet, written in virtual time.

    python -m benchmarks.journal_day [--brokers 300] [--clients 200] [--topics 20] [--limit-mb 50]

Every broker registers each 30 s with some jitter and sends 322 in between; every client looks up its topics each 30 s.
The rollups pass through the real meter and journal. Exits 1 if the size on disk is above the limit.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from routebook.events import Event
from routebook.handlers import Caller
from routebook.handlers.meter import Meter
from routebook.journal.files import FolderFiles
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.rolling import SegmentRoller
from routebook.journal.write.writer import Writer
from routebook.model import BrokerKey
from routebook.settings import Settings
from routebook.wire.command import Command

_DAY_MS = 86_400_000
_BEGIN_MS = 1_700_000_000_000 // _DAY_MS * _DAY_MS


class Fleet:
    """Heartbeats of the brokers and look-ups of the clients."""

    def __init__(self, *, brokers: int, clients: int, topics: int, meter: Meter) -> None:
        rng = random.Random(1)
        self._rng = rng
        self._meter = meter
        self._keys = [BrokerKey(f"cluster-{n % 4}", f"10.0.{n // 250}.{n % 250}:10911") for n in range(brokers)]
        self._phases = [rng.randrange(30_000) for _ in range(brokers)]
        self._callers = [Caller(n, f"10.1.{n // 250}.{n % 250}:40000") for n in range(clients)]
        names = [f"topic-{n:04d}" for n in range(1000)]
        self._client_topics = [rng.sample(names, topics) for _ in range(clients)]

    def minute(self, minute_ms: int) -> None:
        """Count the heartbeats and look-ups of one minute."""
        rng, meter = self._rng, self._meter
        for number, key in enumerate(self._keys):
            for turn in (0, 30_000):
                at_ms = minute_ms + turn + self._phases[number]
                meter.beat(key, f"broker-{number:04d}", at_ms + int(rng.expovariate(1 / 20)))
                meter.beat(key, f"broker-{number:04d}", at_ms + 15_000 + int(rng.expovariate(1 / 20)))
        for caller, topics in zip(self._callers, self._client_topics, strict=True):
            command = Command(code=105, opaque=1)
            for topic in topics:
                row = meter.row(caller, topic, command.language, command.version)
                row[0] += 2
                row[2] += 2 * 1850


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--brokers", type=int, default=300)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--topics", type=int, default=20, help="per client")
    parser.add_argument("--limit-mb", type=float, default=50.0)
    chosen = parser.parse_args()
    meter = Meter(max_keys=Settings.build().lookup_keys_per_minute)
    fleet = Fleet(brokers=chosen.brokers, clients=chosen.clients, topics=chosen.topics, meter=meter)
    with tempfile.TemporaryDirectory(prefix="routebook-bench-") as folder:
        begun = time.perf_counter()
        rows, text = write_day(Path(folder), fleet, meter)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        took_s = time.perf_counter() - begun
    print(
        f"{chosen.brokers} brokers, {chosen.clients} clients with {chosen.topics} topics each:"
        f" {rows} rows, {text / 1e6:.0f} MB of text, {size / 1e6:.1f} MB on disk ({took_s:.0f} s)"
    )
    return 0 if size <= chosen.limit_mb * 1e6 else 1


def write_day(folder: Path, fleet: Fleet, meter: Meter) -> tuple[int, int]:
    """Write the day; return the number of records and their size as text."""
    files, now_ms = FolderFiles(folder), _BEGIN_MS
    options = JournalOptions(retain_age_s=10 * 365 * 86_400)
    writer = open_journal(
        files, ns="ns-0123456789ab", boot="0123456789ab", options=options, now_ms=lambda: now_ms
    ).writer
    for minute_ms in range(_BEGIN_MS, _BEGIN_MS + _DAY_MS, 60_000):
        now_ms = minute_ms + 60_000
        fleet.minute(minute_ms)
        append(writer, meter.take(minute_ms), now_ms)
    writer.stop()  # the threads are not started: everything is written here
    roll(writer.roller)
    status = writer.status()
    return status.written_records, status.written_bytes


def append(writer: Writer, rows: Iterable[Event], now_ms: int) -> None:
    for row in rows:
        writer.append(row, now_ms)
    while writer.status().waiting_records:
        writer.commit()


def roll(roller: SegmentRoller) -> None:
    roller._stopping = False
    roller.run_once()


if __name__ == "__main__":
    sys.exit(main())
