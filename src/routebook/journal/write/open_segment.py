"""The open segment: appends and syncs batches, and discards the remains of a failed write.

After a failed write it is unknown which of its bytes are on disk, and fsync may not report the same failure twice.
The segment is therefore truncated to its last synced length and finished, and the batch goes to a new segment.
"""

from collections.abc import Sequence

import msgspec

from routebook.journal.chain import Chain
from routebook.journal.files import AppendFile, Files
from routebook.journal.segments import Span, extend_span, open_name
from routebook.journal.write.backlog import Pending
from routebook.journal.write.options import JournalOptions


class _SegmentFile:
    """A segment file, its synced size and the records in it."""

    __slots__ = ("created_s", "file", "name", "size", "span")

    def __init__(self, name: str, file: AppendFile, created_s: float) -> None:
        self.name = name
        self.file = file
        self.created_s = created_s
        self.size = 0
        self.span: Span | None = None


class Finished(msgspec.Struct, frozen=True):
    """A complete segment, to be rolled."""

    name: str
    span: Span


class OpenSegment:
    """Not thread-safe. The caller takes what is in `finished` and `lost` after each call.

    `chain` is the hash chain up to the last synced record; the first record of each segment gets a link.
    """

    __slots__ = ("_current", "_failed", "_files", "_max_age_s", "_max_bytes", "chain", "finished", "lost")

    def __init__(self, files: Files, *, options: JournalOptions) -> None:
        self._files = files
        self._max_bytes = options.segment_bytes
        self._max_age_s = options.segment_age_s
        self._current: _SegmentFile | None = None
        self._failed: _SegmentFile | None = None
        self.chain = Chain()
        self.finished: list[Finished] = []
        self.lost: list[Span] = []  # records of segments that were deleted by someone else

    def commit(self, batch: Sequence[Pending], *, now_s: float, is_last: bool = False) -> None:
        """Write and sync a whole batch. After an OSError nothing of it counts; retry with the same batch or more.

        The last batch before a shutdown ends with a link of the hash chain.
        """
        self._discard_failed()
        current = self._current
        if current is None:
            name = open_name(batch[0].seq)
            self._files.remove(name)  # can only be left from a failed attempt to create it
            current = self._current = _SegmentFile(name, self._files.create(name), now_s)
        chain = self.chain.copy()
        data = _linked(batch, chain, at_start=current.span is None, at_end=is_last)
        try:
            current.file.append(data)
            current.file.sync()
        except OSError:
            current.file.close()
            self._current, self._failed = None, current
            raise
        self.chain = chain
        current.size += len(data)
        for pending in batch:
            current.span = extend_span(current.span, pending.seq, pending.at_ms)
        if self.due_s(now_s) <= 0:
            self.roll()

    def roll(self) -> None:
        """Finish the segment; the next batch starts a new one."""
        current, self._current = self._current, None
        if current is not None:
            current.file.close()
            if current.span is not None:
                self.finished.append(Finished(current.name, current.span))

    def due_s(self, now_s: float) -> float:
        """Return the seconds until the segment is to be rolled; infinite if none is open."""
        current = self._current
        if current is None:
            return float("inf")
        if current.size >= self._max_bytes:
            return 0
        return current.created_s + self._max_age_s - now_s

    def _discard_failed(self) -> None:
        failed = self._failed
        if failed is None:
            return
        if failed.span is None:
            self._files.remove(failed.name)
        else:
            try:
                self._files.truncate(failed.name, failed.size)
                self.finished.append(Finished(failed.name, failed.span))
            except FileNotFoundError:
                self.lost.append(failed.span)
        self._failed = None


def _linked(batch: Sequence[Pending], chain: Chain, *, at_start: bool, at_end: bool) -> bytes:
    """Return the text of a batch, with links in its first or last line, and add it to the chain."""
    lines = [pending.line for pending in batch]
    first = [chain.link(lines.pop(0))] if at_start else []
    last = lines.pop() if at_end and lines else None
    rest = b"".join(lines)
    chain.add(rest)
    return b"".join((*first, rest, *([] if last is None else [chain.link(last)])))
