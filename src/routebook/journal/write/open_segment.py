"""The segment that grows: batches are appended and synced, and what a failed write left behind is taken back.

After a failed write nobody knows which of its bytes are on disk, and a failed fsync may not fail again for the same
bytes. So the segment is cut back to its last good length and left, and the batch goes to a new one.
"""

from collections.abc import Sequence

import msgspec

from routebook.journal.files import AppendFile, Files
from routebook.journal.segments import Span, open_name
from routebook.journal.write.backlog import Pending
from routebook.journal.write.options import JournalOptions


class _Growing:
    """A segment, how long it is on disk, and what it holds there."""

    __slots__ = ("file", "name", "since_s", "size", "span")

    def __init__(self, name: str, file: AppendFile, since_s: float) -> None:
        self.name = name
        self.file = file
        self.since_s = since_s
        self.size = 0
        self.span: Span | None = None


class Finished(msgspec.Struct, frozen=True):
    """A segment that does not grow any more, to be rolled."""

    name: str
    span: Span


class SegmentLog:
    """Not for two threads at once."""

    __slots__ = ("_broken", "_files", "_growing", "_max_age_s", "_max_bytes", "finished", "lost")

    def __init__(self, files: Files, *, options: JournalOptions) -> None:
        self._files = files
        self._max_bytes = options.segment_bytes
        self._max_age_s = options.segment_age_s
        self._growing: _Growing | None = None
        self._broken: _Growing | None = None
        self.finished: list[Finished] = []  # for the caller to take
        self.lost: list[Span] = []  # segments that vanished with what was in them; for the caller to take

    def commit(self, batch: Sequence[Pending], *, now_s: float) -> None:
        """Put a batch on disk, whole. After an OSError nothing of it counts: give the same batch, or more, again."""
        self._mend()
        growing = self._growing
        if growing is None:
            name = open_name(batch[0].seq)
            self._files.remove(name)  # only a failed attempt to create it can have left one
            growing = self._growing = _Growing(name, self._files.create(name), now_s)
        data = b"".join([pending.line for pending in batch])
        try:
            growing.file.append(data)
            growing.file.sync()
        except OSError:
            self._leave(growing)
            raise
        growing.size += len(data)
        for pending in batch:
            growing.span = _with(growing.span, pending)
        if self.due_s(now_s) <= 0:
            self.roll()

    def roll(self) -> None:
        """The next batch begins a new segment."""
        growing, self._growing = self._growing, None
        if growing is not None:
            growing.file.close()
            if growing.span is not None:
                self.finished.append(Finished(growing.name, growing.span))

    def due_s(self, now_s: float) -> float:
        """In how many seconds to roll by age, 0 or less: at once; without limit if nothing grows."""
        growing = self._growing
        if growing is None:
            return float("inf")
        if growing.size >= self._max_bytes:
            return 0
        return growing.since_s + self._max_age_s - now_s

    def _leave(self, growing: _Growing) -> None:
        growing.file.close()
        self._growing, self._broken = None, growing

    def _mend(self) -> None:
        broken = self._broken
        if broken is None:
            return
        if broken.span is None:
            self._files.remove(broken.name)
        else:
            try:
                self._files.truncate(broken.name, broken.size)
                self.finished.append(Finished(broken.name, broken.span))
            except FileNotFoundError:
                self.lost.append(broken.span)
        self._broken = None


def _with(span: Span | None, pending: Pending) -> Span:
    seq, at_ms = pending.seq, pending.at_ms
    if span is None:
        return Span(first=seq, last=seq, earliest_ms=at_ms, latest_ms=at_ms)
    return span.and_then(seq, at_ms)
