"""Reads the records of a journal in order, across segments. Damage and missing numbers are returned as values.

Sequence numbers only grow: a line whose number does not is damage. Missing numbers are returned as a Hole, with the
reason if a record in the journal states it.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from routebook.errors import JournalError
from routebook.events import JournalHole
from routebook.journal.files import Files
from routebook.journal.read.lines import Damage, RawLine, read_lines
from routebook.journal.record import Record, decode_envelope, decode_event
from routebook.journal.segments import Segment, Span, list_segments


class Line(msgspec.Struct, frozen=True):
    """A record, its line (without line feed), and the line's file and line number."""

    record: Record
    raw: bytes
    file: str
    number: int


class Hole(msgspec.Struct, frozen=True, kw_only=True):
    """Missing sequence numbers. `why` is None if no record states a reason; see JournalHole for `certain`."""

    first: int
    last: int
    why: str | None = None
    certain: bool = True


Item: TypeAlias = Line | Damage | Hole


class TimeRange(msgspec.Struct, frozen=True, kw_only=True):
    """A range of times in ms since the epoch, both ends inclusive; None is open."""

    from_ms: int | None = None
    to_ms: int | None = None

    def contains(self, at_ms: int) -> bool:
        return (self.from_ms is None or at_ms >= self.from_ms) and (self.to_ms is None or at_ms <= self.to_ms)

    def overlaps(self, span: Span) -> bool:
        return (self.from_ms is None or span.latest_ms >= self.from_ms) and (
            self.to_ms is None or span.earliest_ms <= self.to_ms
        )


def read(files: Files, *, from_seq: int | None = None, between: TimeRange | None = None) -> Iterator[Item]:
    """Read to the current end, starting with `from_seq`; if that is past retention, a hole comes first."""
    cursor = Cursor(from_seq=from_seq, between=between)
    listing = list_segments(files.names())
    for name in listing.misnamed:
        yield Damage(file=name, reason="not a valid segment name: the file is ignored")
    begin = 0
    if from_seq is not None:
        begin = max((i for i, segment in enumerate(listing.segments) if segment.first <= from_seq), default=0)
    for segment in listing.segments[begin:]:
        for item in cursor.items(files, segment):
            # an unfinished line is normal at the end of the newest segment only
            if isinstance(item, Damage) and item.unfinished and segment is not listing.segments[-1]:
                yield msgspec.structs.replace(item, unfinished=False)
            else:
                yield item


def follow(files: Files, *, from_seq: int | None = None, wait: Callable[[], bool]) -> Iterator[Item]:
    """Read, then follow the journal. `wait` is called when there is nothing new; it returns False to stop."""
    cursor = Cursor(from_seq=from_seq)
    while True:
        segments = list_segments(files.names()).segments
        begin = max((i for i, segment in enumerate(segments) if segment.first <= cursor.wanted), default=0)
        cursor.skip_reread()
        for segment in segments[begin:]:
            for item in cursor.items(files, segment):
                if not (isinstance(item, Damage) and item.unfinished):
                    yield item
        if not wait():
            return


def newest(files: Files, count: int, *, wanted: Callable[[Record], bool]) -> list[Line]:
    """Return the newest `count` records that match, oldest first; damage is skipped."""
    found: list[Line] = []
    for segment in reversed(list_segments(files.names()).segments):
        lines = [item for item in Cursor().items(files, segment) if isinstance(item, Line) and wanted(item.record)]
        found[:0] = lines[-(count - len(found)) :]
        if len(found) >= count:
            break
    return found


class Cursor:
    """A reader's position: the last sequence number, and the place in the current segment."""

    __slots__ = ("_between", "_done", "_floor", "_last", "_number", "_offset", "_segment")

    def __init__(self, *, from_seq: int | None = None, between: TimeRange | None = None) -> None:
        self._between = between
        self._last = from_seq - 1 if from_seq is not None else None  # None: start with the oldest record
        self._floor = self._last or 0  # numbers up to this one are skipped
        self._segment = 0
        self._offset = 0
        self._number = 0
        self._done = 0  # first number of the last rolled segment that was read completely

    @property
    def wanted(self) -> int:
        """The next expected number."""
        return self._last + 1 if self._last is not None else 1

    def skip_reread(self) -> None:
        """Skip records that were already read: their segment may have been rolled, or rewritten after a failure."""
        self._floor = self._last or 0

    def items(self, files: Files, segment: Segment) -> Iterator[Item]:
        """Read what is new in a segment; the next call continues there."""
        span = segment.span
        if span is not None:
            if segment.first <= self._done:
                return
            if self._between is not None and not self._between.overlaps(span):
                self._last = span.last
                return
        if segment.first != self._segment:
            self._segment, self._offset, self._number = segment.first, 0, 0
        try:
            yield from self._rolled(files, segment) if span is not None else self._plain(files, segment)
        except FileNotFoundError:
            rolled = _rolled_form(files, segment)
            if rolled is not None:
                yield from self.items(files, rolled)

    def _plain(self, files: Files, segment: Segment) -> Iterator[Item]:
        for found in read_lines(files, segment, offset=self._offset, number=self._number, is_before=self._is_before):
            if isinstance(found, Damage):
                yield found
            else:
                self._offset, self._number = found.end, found.number
                yield from self._line(found, segment)

    def _rolled(self, files: Files, segment: Segment) -> Iterator[Item]:
        seen = self._number  # lines already read from the plain form, which has the same text
        for found in read_lines(files, segment, is_before=self._is_before):
            if isinstance(found, Damage):
                yield msgspec.structs.replace(found, unfinished=False)
            elif found.number > seen:
                self._number = found.number
                yield from self._line(found, segment)
        self._done = segment.first

    def _is_before(self, raw: bytes) -> bool:
        try:
            return decode_envelope(raw).seq <= self._floor
        except JournalError:
            return False

    def _line(self, found: RawLine, segment: Segment) -> tuple[Item, ...]:
        try:
            envelope = decode_envelope(found.raw)
            seq, last = envelope.seq, self._last
            if seq <= self._floor:
                return ()
            if last is not None and seq <= last:
                return (_damage(found, segment, f"number {seq} does not follow {last}"),)
            self._last = seq
            if self._between is not None and not self._between.contains(envelope.at):
                return ()
        except JournalError as problem:
            return (_damage(found, segment, str(problem)),)
        item: Item
        try:
            item = Line(decode_event(found.raw, envelope), found.raw, segment.name, found.number)
        except JournalError as problem:
            item = _damage(found, segment, str(problem))
        if last is None or seq == last + 1:
            return (item,)
        return (_hole(item, first=last + 1, last=seq - 1), item)


def _hole(item: Item, *, first: int, last: int) -> Hole:
    """Return the numbers missing before an item, with the reason if the item states it."""
    event = item.record.event if isinstance(item, Line) else None
    if isinstance(event, JournalHole) and event.first_missing <= first and event.last_missing >= last:
        return Hole(first=first, last=last, why=event.why, certain=event.certain)
    return Hole(first=first, last=last)


def _damage(found: RawLine, segment: Segment, reason: str) -> Damage:
    return Damage(file=segment.name, line=found.number, offset=found.offset, size=len(found.raw) + 1, reason=reason)


def _rolled_form(files: Files, segment: Segment) -> Segment | None:
    """Return the rolled form of a plain segment that disappeared; None if it was removed."""
    if segment.rolled:
        return None
    now = {other.first: other for other in list_segments(files.names()).segments if other.rolled}
    return now.get(segment.first)
