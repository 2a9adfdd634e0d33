"""What to do with a journal at start: how its numbers go on, and what a crash left to put right.

`inspect` only looks, so that a start on a read-only disk knows where numbers go on; `repair` acts on what it found.
"""

from collections.abc import Iterator, Sequence
from itertools import count

import msgspec

from routebook.errors import JournalError, JournalForeign, JournalVersion
from routebook.journal.files import Files
from routebook.journal.read.lines import Damage, RawLine, read_lines
from routebook.journal.read.reader import Hole
from routebook.journal.record import HOLE_KIND, Envelope, decode_envelope
from routebook.journal.segments import (
    CORRUPT_SUFFIX,
    MARK_NAME,
    TEMPORARY_SUFFIX,
    Listing,
    Segment,
    Span,
    list_segments,
)
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.sequence_reserve import Mark, read_mark


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """A segment that is not rolled: what is good in it, and what is not."""

    segment: Segment
    span: Span | None  # None: not one good line
    good: tuple[tuple[int, int], ...]  # stretches of good lines: offset, end
    damage: tuple[Damage, ...]  # stretches of bad ones
    holes: tuple[Hole, ...]
    torn_bytes: int  # after the last line feed


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """How a journal was found."""

    next_seq: int
    passed_over: Hole | None  # numbers before `next_seq` that nobody will find, for the writer to tell
    examined: tuple[Examined, ...]
    leftovers: tuple[str, ...]  # half made, or plain though rolled completely
    misrolled: tuple[str, ...]  # rolled, but not the text of the plain segment that is still there
    damage: tuple[Damage, ...]
    holes: tuple[Hole, ...]  # numbers that are missing in the middle, untold by the journal itself

    @property
    def torn_bytes(self) -> int:
        return sum(examined.torn_bytes for examined in self.examined)


def inspect(files: Files, *, ns: str, at_least: int = 1, options: JournalOptions) -> Inspection:
    """Look at the journal of the NameServer `ns`. Its next number is no less than `at_least`, if the caller knows.

    Raises JournalError if it is not ours to continue: of another NameServer, of another format, not readable.
    """
    try:
        names = files.names()
        listing = list_segments(names)
        mark = read_mark(files)
        segments, misrolled = _without_misrolled(files, listing)
        examined = tuple(_examine(files, segment, ns) for segment in segments if not segment.rolled)
        spans = {found.segment.first: found.span for found in examined}
        ends = [segment.span or spans[segment.first] for segment in segments]
        holes = tuple(_holes_between(files, segments, ends))
    except OSError as problem:
        raise JournalError(f"the journal cannot be read: {problem}") from problem
    last = max((span.last for span in ends if span is not None), default=0)
    new = not last and MARK_NAME not in names
    next_seq = max(0 if new else _handed_out(mark, last, options), at_least - 1) + 1
    kept = {segment.name for segment in segments}
    return Inspection(
        next_seq=next_seq,
        passed_over=_passed_over(last + 1, next_seq - 1, mark),
        examined=examined,
        leftovers=listing.leftovers + tuple(double.name for double in listing.doubles if double.name not in kept),
        misrolled=misrolled,
        damage=(*_odd_files(listing, misrolled), *(damage for found in examined for damage in found.damage)),
        holes=(*holes, *(hole for found in examined for hole in found.holes)),
    )


def repair(files: Files, found: Inspection) -> tuple[Damage, ...]:
    """Put right what can be, finish what was begun; returns the damage and where it was set aside. Raises OSError.

    Stopped half-way and done again, it comes to the same.
    """
    for name in found.misrolled:
        files.rename(name, name + CORRUPT_SUFFIX)
    for name in found.leftovers:
        files.remove(name)
    examined = {examined.segment.name for examined in found.examined}
    told = [damage for damage in found.damage if damage.file not in examined]
    for segment in found.examined:
        told += _mend(files, segment)
    return tuple(told)


def _handed_out(mark: Mark | None, last: int, options: JournalOptions) -> int:
    """The last number that may have been given to a record, on disk or not."""
    if mark is not None and mark.reserved >= last:
        return mark.reserved
    # The mark is torn, lost, or left behind. It was never this far ahead of the records: see Writer._reserve.
    return last + 4 * options.queue_records


def _passed_over(first: int, last: int, mark: Mark | None) -> Hole | None:
    if first > last:
        return None
    if mark is not None and mark.clean:
        return Hole(first=first, last=last, why="the newest records were gone at start")
    return Hole(first=first, last=last, why="numbering went on after a crash", certain=False)


def _without_misrolled(files: Files, listing: Listing) -> tuple[list[Segment], tuple[str, ...]]:
    """The segments, each in the form to be believed. A rolled one is made of the plain one, so that one wins."""
    plain = {double.first: double for double in listing.doubles}
    segments: list[Segment] = []
    misrolled: list[str] = []
    for segment in listing.segments:
        double = plain.get(segment.first)
        if double is None or _text(files, segment) == _text(files, double):
            segments.append(segment)
        else:
            segments.append(double)
            misrolled.append(segment.name)
    return segments, tuple(misrolled)


def _text(files: Files, segment: Segment) -> list[bytes | Damage]:
    return [found if isinstance(found, Damage) else found.raw for found in read_lines(files, segment)]


def _examine(files: Files, segment: Segment, ns: str) -> Examined:
    span: Span | None = None
    last = segment.first - 1
    good: list[tuple[int, int]] = []
    damage: list[Damage] = []
    holes: list[Hole] = []
    torn = 0
    for found in read_lines(files, segment):
        if isinstance(found, Damage):
            if not found.unfinished:
                raise JournalError(f"{found.file}: {found.reason}")
            torn = found.size
            break
        try:
            envelope = _checked(found, segment, ns=ns, last=last)
        except (JournalVersion, JournalForeign):  # not damage: not ours to set aside
            raise
        except JournalError as problem:
            _note(damage, found, segment, str(problem))
            continue
        if envelope.seq > last + 1 and envelope.kind != HOLE_KIND:
            holes.append(Hole(first=last + 1, last=envelope.seq - 1))
        last = envelope.seq
        span = _grown(span, envelope, segment)
        if good and good[-1][1] == found.offset:
            good[-1] = (good[-1][0], found.end)
        else:
            good.append((found.offset, found.end))
    return Examined(
        segment=segment, span=span, good=tuple(good), damage=tuple(damage), holes=tuple(holes), torn_bytes=torn
    )


def _checked(found: RawLine, segment: Segment, *, ns: str, last: int) -> Envelope:
    try:
        envelope = decode_envelope(found.raw)
    except JournalVersion as problem:
        raise JournalVersion(f"{segment.name}, line {found.number}: {problem}") from None
    if envelope.ns != ns:
        raise JournalForeign(
            f"{segment.name}, line {found.number}: the journal belongs to NameServer {envelope.ns}, and this one is "
            f"{ns}: restore its identity.json, or move the journal folder away"
        )
    if envelope.seq <= last:
        raise JournalError(f"number {envelope.seq} does not follow {last}")
    return envelope


def _note(damage: list[Damage], found: RawLine, segment: Segment, reason: str) -> None:
    size = len(found.raw) + 1
    if damage and damage[-1].offset + damage[-1].size == found.offset:
        damage[-1] = msgspec.structs.replace(damage[-1], size=damage[-1].size + size)
    else:
        damage.append(Damage(file=segment.name, line=found.number, offset=found.offset, size=size, reason=reason))


def _grown(span: Span | None, envelope: Envelope, segment: Segment) -> Span:
    if span is None:
        return Span(first=segment.first, last=envelope.seq, earliest_ms=envelope.at, latest_ms=envelope.at)
    return span.and_then(envelope.seq, envelope.at)


def _holes_between(files: Files, segments: Sequence[Segment], spans: Sequence[Span | None]) -> Iterator[Hole]:
    last: int | None = None
    for segment, span in zip(segments, spans, strict=True):
        if span is None:
            continue
        if last is not None and span.first > last + 1 and not _begins_with_hole(files, segment):
            yield Hole(first=last + 1, last=span.first - 1)
        last = span.last


def _begins_with_hole(files: Files, segment: Segment) -> bool:
    for found in read_lines(files, segment):
        try:
            return not isinstance(found, Damage) and decode_envelope(found.raw).kind == HOLE_KIND
        except JournalError:
            continue
    return False


def _odd_files(listing: Listing, misrolled: Sequence[str]) -> Iterator[Damage]:
    for name in listing.strangers:
        yield Damage(file=name, reason="a segment's suffix, but not its name: left alone")
    for name in misrolled:
        yield Damage(file=name, reason="not the text of the segment it was made of", saved_as=name + CORRUPT_SUFFIX)


def _mend(files: Files, examined: Examined) -> Iterator[Damage]:
    """Cut off the torn end; copy damaged stretches away and put a segment without them in the place of the old one."""
    name = examined.segment.name
    if examined.damage:
        with files.open(name) as file:
            text = file.read()
        for damage in examined.damage:
            saved_as = _free_name(files, f"{name}.{damage.offset}")
            _write(files, saved_as, text[damage.offset : damage.offset + damage.size])
            yield msgspec.structs.replace(damage, saved_as=saved_as)
        if examined.good:
            _write(files, name + TEMPORARY_SUFFIX, b"".join(text[start:end] for start, end in examined.good))
            files.rename(name + TEMPORARY_SUFFIX, name)
    elif examined.torn_bytes and examined.good:
        files.truncate(name, examined.good[-1][1])
    if not examined.good:
        files.remove(name)


def _free_name(files: Files, stem: str) -> str:
    taken = set(files.names())
    names = (f"{stem}{f'.{n}' if n else ''}{CORRUPT_SUFFIX}" for n in count())
    return next(name for name in names if name not in taken)


def _write(files: Files, name: str, data: bytes) -> None:
    files.remove(name)
    file = files.create(name)
    try:
        file.append(data)
        file.sync()
    finally:
        file.close()
