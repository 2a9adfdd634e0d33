"""Backlog: assigns sequence numbers and holds the records not yet on disk, bounded. Pure; the caller holds the lock.

When it is full, new records are dropped. Their numbers stay unused, and once half of the backlog is free a JournalHole
record takes their place. No number above `limit`, the reserve on disk, is assigned: records dropped beyond it are only
counted.
"""

from collections import deque
from itertools import islice
from typing import NamedTuple

from routebook.events import Event, JournalHole
from routebook.journal.record import RecordEncoder
from routebook.journal.write.options import JournalOptions


class Pending(NamedTuple):
    """An encoded record that is not yet on disk."""

    seq: int
    at_ms: int
    line: bytes


class Backlog:
    """A FIFO queue of pending records."""

    __slots__ = (
        "_dropped_count",
        "_dropped_from",
        "_encoder",
        "_holes",
        "_max_bytes",
        "_max_records",
        "_waiting",
        "_why",
        "bytes",
        "dropped",
        "holes",
        "limit",
        "next_seq",
    )

    def __init__(self, encoder: RecordEncoder, *, next_seq: int, options: JournalOptions) -> None:
        self._encoder = encoder
        self._max_records = options.queue_records
        self._max_bytes = options.queue_bytes
        self._waiting: deque[Pending] = deque()
        self._holes: deque[tuple[int, int]] = deque(maxlen=64)
        self._dropped_from: int | None = None
        self._dropped_count = 0
        self._why = ""
        self.bytes = 0
        self.next_seq = next_seq
        self.limit = next_seq - 1
        self.dropped = 0
        self.holes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_dropping(self) -> bool:
        """Whether records were dropped for which no hole is recorded yet."""
        return self._dropped_from is not None

    def add(self, event: Event, at_ms: int, *, why_full: str) -> int:
        """Assign a number and queue the event, or drop it if the backlog is full, with `why_full` as the reason.

        Returns the number, or 0 if the event was dropped without one.
        """
        self.record_dropped(at_ms)
        if self._dropped_from is None and self._has_room():
            return self._put(event, at_ms)
        if self._dropped_from is None:
            self._dropped_from = self.next_seq
            self._dropped_count = 0
            self._why = why_full
        self.dropped += 1
        self._dropped_count += 1
        if self.next_seq > self.limit:
            return 0
        self.next_seq += 1
        return self.next_seq - 1

    def record_hole(self, first: int, last: int, *, why: str, at_ms: int, certain: bool = True) -> None:
        """Record that numbers are missing: their records were lost, or the numbers were skipped."""
        self._holes.append((first, last))
        self.holes += 1
        self._put(_hole(first, last, why=why, certain=certain), at_ms)

    def record_dropped(self, at_ms: int) -> None:
        """Record a hole for dropped records, if there are any and half of the backlog is free."""
        first = self._dropped_from
        if first is None or self.next_seq > self.limit:
            return
        if len(self._waiting) > self._max_records // 2 or self.bytes > self._max_bytes // 2:
            return
        last = self.next_seq - 1
        self._dropped_from = None
        self._holes.append((first, last))
        self.holes += 1
        self._put(_hole(first, last, why=self._why, count=self._dropped_count), at_ms)

    def front(self, max_bytes: int) -> list[Pending]:
        """Return the next records to write, about `max_bytes` of them and at least one. They stay queued."""
        size = 0
        for count, pending in enumerate(self._waiting, 1):
            size += len(pending.line)
            if size >= max_bytes:
                return list(islice(self._waiting, count))
        return list(self._waiting)

    def done(self, count: int) -> None:
        """Remove the first `count` records: they are on disk."""
        for _ in range(count):
            self.bytes -= len(self._waiting.popleft().line)

    def is_dropped(self, seq: int) -> bool:
        """Whether a recently assigned number belongs to a dropped or lost record."""
        if self._dropped_from is not None and seq >= self._dropped_from:
            return True
        return any(first <= seq <= last for first, last in self._holes)

    def _has_room(self) -> bool:
        return len(self._waiting) < self._max_records and self.bytes < self._max_bytes and self.next_seq <= self.limit

    def _put(self, event: Event, at_ms: int) -> int:
        seq = self.next_seq
        line = self._encoder.line(event, seq=seq, at_ms=at_ms)
        self._waiting.append(Pending(seq, at_ms, line))
        self.bytes += len(line)
        self.next_seq = seq + 1
        return seq


def _hole(first: int, last: int, *, why: str, certain: bool = True, count: int | None = None) -> JournalHole:
    if count is None:
        count = last - first + 1
    return JournalHole(first_missing=first, last_missing=last, count=count, why=why, certain=certain)
