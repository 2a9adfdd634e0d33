"""Records of a journal in order, over all its segments; what is wrong with it comes between them, as values.

Numbers only ever grow for who reads: a line whose number does not is damage. Numbers that are missing come as a hole,
with the reason where the journal itself tells it.
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
    """A record, the line it was read from (without line feed), and where that is."""

    record: Record
    raw: bytes
    file: str
    number: int


class Hole(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers that are not there. `why` is None where nothing in the journal tells; see JournalHole for `certain`."""

    first: int
    last: int
    why: str | None = None
    certain: bool = True


Item: TypeAlias = Line | Damage | Hole


class Between(msgspec.Struct, frozen=True, kw_only=True):
    """Times to look between, both included, in ms since the epoch; None is open."""

    from_ms: int | None = None
    to_ms: int | None = None

    def holds(self, at_ms: int) -> bool:
        return (self.from_ms is None or at_ms >= self.from_ms) and (self.to_ms is None or at_ms <= self.to_ms)

    def touches(self, span: Span) -> bool:
        return (self.from_ms is None or span.latest_ms >= self.from_ms) and (
            self.to_ms is None or span.earliest_ms <= self.to_ms
        )


def read(files: Files, *, from_seq: int | None = None, between: Between | None = None) -> Iterator[Item]:
    """All that is there now, from `from_seq` on: if that is no longer kept, a hole comes first."""
    cursor = Cursor(from_seq=from_seq, between=between)
    listing = list_segments(files.names())
    for name in listing.strangers:
        yield Damage(file=name, reason="a segment's suffix, but not its name: not read")
    begin = 0
    if from_seq is not None:
        begin = max((i for i, segment in enumerate(listing.segments) if segment.first <= from_seq), default=0)
    for segment in listing.segments[begin:]:
        for item in cursor.items(files, segment):
            # in an older segment a line without end is damage like any other
            if isinstance(item, Damage) and item.unfinished and segment is not listing.segments[-1]:
                yield msgspec.structs.replace(item, unfinished=False)
            else:
                yield item


def follow(files: Files, *, from_seq: int | None = None, wait: Callable[[], bool]) -> Iterator[Item]:
    """What is there, then what comes; `wait` is called when there is nothing new and ends it by returning False."""
    cursor = Cursor(from_seq=from_seq)
    while True:
        segments = list_segments(files.names()).segments
        begin = max((i for i, segment in enumerate(segments) if segment.first <= cursor.wanted), default=0)
        cursor.again()
        for segment in segments[begin:]:
            for item in cursor.items(files, segment):
                if not (isinstance(item, Damage) and item.unfinished):
                    yield item
        if not wait():
            return


def newest(files: Files, count: int, *, wanted: Callable[[Record], bool]) -> list[Line]:
    """The newest `count` records that are wanted, oldest first; what is damaged is passed over."""
    found: list[Line] = []
    for segment in reversed(list_segments(files.names()).segments):
        lines = [item for item in Cursor().items(files, segment) if isinstance(item, Line) and wanted(item.record)]
        found[:0] = lines[-(count - len(found)) :]
        if len(found) >= count:
            break
    return found


class Cursor:
    """Where a reader is: which number it had last, and which place in which segment."""

    __slots__ = ("_between", "_done", "_floor", "_last", "_number", "_offset", "_segment")

    def __init__(self, *, from_seq: int | None = None, between: Between | None = None) -> None:
        self._between = between
        self._last = from_seq - 1 if from_seq is not None else None  # None: begin with whatever is there
        self._floor = self._last or 0  # numbers up to this one are passed over
        self._segment = 0
        self._offset = 0
        self._number = 0
        self._done = 0  # first number of the last rolled segment that was read to its end

    @property
    def wanted(self) -> int:
        """The number that should come next."""
        return self._last + 1 if self._last is not None else 1

    def again(self) -> None:
        """What was read may come again: it was rolled, or taken back and written to another segment."""
        self._floor = self._last or 0

    def items(self, files: Files, segment: Segment) -> Iterator[Item]:
        """What is new in a segment; where this ends is where the next call goes on."""
        span = segment.span
        if span is not None:
            if segment.first <= self._done:
                return
            if self._between is not None and not self._between.touches(span):
                self._last = span.last
                return
        if segment.first != self._segment:
            self._segment, self._offset, self._number = segment.first, 0, 0
        try:
            yield from self._rolled(files, segment) if span is not None else self._growing(files, segment)
        except FileNotFoundError:
            rolled = _rolled_meanwhile(files, segment)
            if rolled is not None:
                yield from self.items(files, rolled)

    def _growing(self, files: Files, segment: Segment) -> Iterator[Item]:
        for found in read_lines(files, segment, offset=self._offset, number=self._number, is_before=self._is_before):
            if isinstance(found, Damage):
                yield found
            else:
                self._offset, self._number = found.end, found.number
                yield from self._line(found, segment)

    def _rolled(self, files: Files, segment: Segment) -> Iterator[Item]:
        seen = self._number  # the text is the same as before it was rolled
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
            if self._between is not None and not self._between.holds(envelope.at):
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
    """The numbers missing before an item, and why, if it is the one that tells."""
    told = item.record.event if isinstance(item, Line) else None
    if isinstance(told, JournalHole) and told.first_missing <= first and told.last_missing >= last:
        return Hole(first=first, last=last, why=told.why, certain=told.certain)
    return Hole(first=first, last=last)


def _damage(found: RawLine, segment: Segment, reason: str) -> Damage:
    return Damage(file=segment.name, line=found.number, offset=found.offset, size=len(found.raw) + 1, reason=reason)


def _rolled_meanwhile(files: Files, segment: Segment) -> Segment | None:
    """The rolled form of a segment that was there a moment ago; None if it was removed."""
    if segment.rolled:
        return None
    now = {other.first: other for other in list_segments(files.names()).segments if other.rolled}
    return now.get(segment.first)
