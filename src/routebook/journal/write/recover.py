"""Journal recovery at start: finds the next sequence number and repairs what a crash left behind.

`inspect` only reads, so that it also works on a read-only disk; `repair` acts on what it found.
"""

from collections.abc import Iterator, Sequence
from itertools import count

import msgspec

from routebook.errors import JournalError, JournalForeign, JournalVersion
from routebook.journal.files import Files
from routebook.journal.read.lines import Damage, RawLine, read_lines
from routebook.journal.read.reader import Hole
from routebook.journal.record import HOLE_KIND, Envelope, decode_envelope, decode_event
from routebook.journal.segments import (
    CORRUPT_SUFFIX,
    RESERVE_NAME,
    TEMPORARY_SUFFIX,
    Listing,
    Segment,
    Span,
    extend_span,
    list_segments,
)
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.sequence_reserve import SequenceReserve, read_reserve


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """A segment that is not rolled, with its valid and its damaged ranges."""

    segment: Segment
    span: Span | None  # None: no valid line
    valid: tuple[tuple[int, int], ...]  # ranges of valid lines: offset, end
    damage: tuple[Damage, ...]
    holes: tuple[Hole, ...]
    torn_bytes: int  # bytes after the last line feed


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a journal at start."""

    next_seq: int
    skipped: Hole | None  # numbers before `next_seq` without a record; the writer records them
    examined: tuple[Examined, ...]
    leftovers: tuple[str, ...]  # incomplete files, and plain segments that are completely rolled
    misrolled: tuple[str, ...]  # rolled segments that differ from the plain segment, which still exists
    damage: tuple[Damage, ...]
    holes: tuple[Hole, ...]  # missing numbers that no record in the journal explains

    @property
    def torn_bytes(self) -> int:
        return sum(examined.torn_bytes for examined in self.examined)


def inspect(files: Files, *, ns: str, at_least: int = 1, options: JournalOptions) -> Inspection:
    """Examine the journal of the NameServer `ns`. The next sequence number is `at_least` or more.

    Raises JournalError if the journal belongs to another NameServer or format, or cannot be read.
    """
    try:
        names = files.names()
        listing = list_segments(names)
        reserve = read_reserve(files)
        segments, misrolled = _choose_forms(files, listing)
        examined = tuple(_examine(files, segment, ns) for segment in segments if not segment.rolled)
        spans = {found.segment.first: found.span for found in examined}
        ends = [segment.span or spans[segment.first] for segment in segments]
        holes = tuple(_holes_between(files, segments, ends))
    except OSError as problem:
        raise JournalError(f"the journal cannot be read: {problem}") from problem
    last = max((span.last for span in ends if span is not None), default=0)
    is_new = not last and RESERVE_NAME not in names
    next_seq = max(0 if is_new else _last_assigned(reserve, last, options), at_least - 1) + 1
    kept = {segment.name for segment in segments}
    return Inspection(
        next_seq=next_seq,
        skipped=_skipped(last + 1, next_seq - 1, reserve),
        examined=examined,
        leftovers=listing.leftovers + tuple(plain.name for plain in listing.duplicates if plain.name not in kept),
        misrolled=misrolled,
        damage=(*_invalid_files(listing, misrolled), *(damage for found in examined for damage in found.damage)),
        holes=(*holes, *(hole for found in examined for hole in found.holes)),
    )


def repair(files: Files, found: Inspection) -> tuple[Damage, ...]:
    """Repair the journal and return the damage with the files it was set aside in. Raises OSError. Idempotent."""
    for name in found.misrolled:
        files.rename(name, name + CORRUPT_SUFFIX)
    for name in found.leftovers:
        files.remove(name)
    examined = {examined.segment.name for examined in found.examined}
    damage = [damage for damage in found.damage if damage.file not in examined]
    for segment in found.examined:
        damage += _repair_segment(files, segment)
    return tuple(damage)


def _last_assigned(reserve: SequenceReserve | None, last: int, options: JournalOptions) -> int:
    """Return the last number that may have been assigned to a record, on disk or not."""
    if reserve is not None and reserve.reserved >= last:
        return reserve.reserved
    # The reserve is torn, lost or outdated. It is never this far ahead of the records: see Writer._reserve.
    return last + 4 * options.queue_records


def _skipped(first: int, last: int, reserve: SequenceReserve | None) -> Hole | None:
    if first > last:
        return None
    if reserve is not None and reserve.clean:
        return Hole(first=first, last=last, why="the newest records were missing at start")
    return Hole(first=first, last=last, why="numbers skipped after a crash", certain=False)


def _choose_forms(files: Files, listing: Listing) -> tuple[list[Segment], tuple[str, ...]]:
    """Return the segments, and the names of rolled ones that differ from their plain form, which then counts."""
    plain_forms = {plain.first: plain for plain in listing.duplicates}
    segments: list[Segment] = []
    misrolled: list[str] = []
    for segment in listing.segments:
        plain = plain_forms.get(segment.first)
        if plain is None or _text(files, segment) == _text(files, plain):
            segments.append(segment)
        else:
            segments.append(plain)
            misrolled.append(segment.name)
    return segments, tuple(misrolled)


def _text(files: Files, segment: Segment) -> list[bytes | Damage]:
    return [found if isinstance(found, Damage) else found.raw for found in read_lines(files, segment)]


def _examine(files: Files, segment: Segment, ns: str) -> Examined:
    span: Span | None = None
    last = segment.first - 1
    valid: list[tuple[int, int]] = []
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
        except (JournalVersion, JournalForeign):  # valid data of another release or NameServer, not damage
            raise
        except JournalError as problem:
            _add_damage(damage, found, segment, str(problem))
            continue
        if envelope.seq > last + 1 and envelope.kind != HOLE_KIND:
            holes.append(Hole(first=last + 1, last=envelope.seq - 1))
        last = envelope.seq
        span = extend_span(span, envelope.seq, envelope.at)
        if valid and valid[-1][1] == found.offset:
            valid[-1] = (valid[-1][0], found.end)
        else:
            valid.append((found.offset, found.end))
    if span is not None:  # the file name keeps its first number even if the first lines are damaged
        span = msgspec.structs.replace(span, first=segment.first)
    return Examined(
        segment=segment, span=span, valid=tuple(valid), damage=tuple(damage), holes=tuple(holes), torn_bytes=torn
    )


def _checked(found: RawLine, segment: Segment, *, ns: str, last: int) -> Envelope:
    try:
        envelope = decode_envelope(found.raw)
    except JournalVersion as problem:
        raise JournalVersion(f"{segment.name}, line {found.number}: {problem}") from None
    if envelope.ns != ns:
        raise JournalForeign(
            f"{segment.name}, line {found.number}: the journal belongs to NameServer {envelope.ns}, but this is "
            f"{ns}: restore its identity.json, or move the journal folder away"
        )
    if envelope.seq <= last:
        raise JournalError(f"number {envelope.seq} does not follow {last}")
    decode_event(found.raw, envelope)  # a valid envelope with fields that its kind does not allow is damage, too
    return envelope


def _add_damage(damage: list[Damage], found: RawLine, segment: Segment, reason: str) -> None:
    size = len(found.raw) + 1
    if damage and damage[-1].offset + damage[-1].size == found.offset:
        damage[-1] = msgspec.structs.replace(damage[-1], size=damage[-1].size + size)
    else:
        damage.append(Damage(file=segment.name, line=found.number, offset=found.offset, size=size, reason=reason))


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


def _invalid_files(listing: Listing, misrolled: Sequence[str]) -> Iterator[Damage]:
    for name in listing.misnamed:
        yield Damage(file=name, reason="not a valid segment name: the file is ignored")
    for name in misrolled:
        yield Damage(file=name, reason="differs from the segment it was rolled from", saved_as=name + CORRUPT_SUFFIX)


def _repair_segment(files: Files, examined: Examined) -> Iterator[Damage]:
    """Truncate the torn end. Copy damaged ranges to files of their own and rewrite the segment without them."""
    name = examined.segment.name
    if examined.damage:
        with files.open(name) as file:
            text = file.read()
        for damage in examined.damage:
            saved_as = _free_name(files, f"{name}.{damage.offset}")
            _write(files, saved_as, text[damage.offset : damage.offset + damage.size])
            yield msgspec.structs.replace(damage, saved_as=saved_as)
        if examined.valid:
            _write(files, name + TEMPORARY_SUFFIX, b"".join(text[start:end] for start, end in examined.valid))
            files.rename(name + TEMPORARY_SUFFIX, name)
    elif examined.torn_bytes and examined.valid:
        files.truncate(name, examined.valid[-1][1])
    if not examined.valid:
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
