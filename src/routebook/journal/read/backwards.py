"""Reads the journal from its end, newest record first; lines of excluded kinds are skipped without decoding."""

from collections.abc import Iterator
from typing import Final

import msgspec

from routebook.errors import JournalError
from routebook.journal.files import Files
from routebook.journal.read.lines import text_of
from routebook.journal.read.select import Selection
from routebook.journal.record import Record, decode_envelope, decode_event
from routebook.journal.segments import Segment, list_segments

_HEAD_BYTES: Final = 256  # contains the envelope


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Records, newest first. `reached` is the oldest number searched; None: the search reached the oldest record."""

    records: list[Record]
    reached: int | None
    looked_at: int  # lines


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of a search: sequence numbers (both exclusive), latest time, and limits."""

    limit: int
    before: int | None = None
    after: int = 0
    at_ms: int | None = None
    excluded_kinds: frozenset[str] = frozenset()
    max_decoded: int = 20_000
    max_lines: int = 400_000


def find_newest(files: Files, page: Page, wanted: Selection) -> Found:
    """Search from the end. Blocking. Damaged lines, and segments removed during the search, are skipped."""
    search = _Search(page, wanted)
    for segment in reversed(list_segments(files.names()).segments):
        if not search.may_hold(segment):
            continue
        try:
            text = text_of(files, segment)
        except FileNotFoundError:
            continue
        if not search.take(text):
            return Found(records=search.found, reached=search.reached, looked_at=search.lines)
        if segment.first <= page.after + 1:
            break
    return Found(records=search.found, reached=None, looked_at=search.lines)


class _Search:
    """A search in progress."""

    def __init__(self, page: Page, wanted: Selection) -> None:
        self._page = page
        self._wanted = wanted
        self._skipped = [b'"kind":"%b"' % kind.encode() for kind in page.excluded_kinds]
        self._decoded = 0
        self.found: list[Record] = []
        self.reached: int | None = None
        self.lines = 0

    def may_hold(self, segment: Segment) -> bool:
        page, span = self._page, segment.span
        if page.before is not None and segment.first >= page.before:
            return False
        return span is None or (span.last > page.after and (page.at_ms is None or span.earliest_ms <= page.at_ms))

    def take(self, text: bytes) -> bool:
        """Search a segment from its end; return False to end the search."""
        for line in _reversed_lines(text):
            self.lines += 1
            if self.lines > self._page.max_lines and (seq := _seq_of(line)) is not None:
                self.reached = seq
                return False
            head = line[:_HEAD_BYTES]
            if not any(mark in head for mark in self._skipped) and not self._check(line):
                return False
        return True

    def _check(self, line: bytes) -> bool:
        page = self._page
        try:
            envelope = decode_envelope(line)
            if envelope.seq <= page.after:
                self.reached = None
                return False
            is_later = page.before is not None and envelope.seq >= page.before
            if is_later or (page.at_ms is not None and envelope.at > page.at_ms):
                return True
            if len(self.found) >= page.limit or self._decoded >= page.max_decoded:
                return False
            self._decoded += 1
            self.reached = envelope.seq
            if self._wanted.kinds and envelope.kind not in self._wanted.kinds:
                return True
            record = decode_event(line, envelope)
        except JournalError:
            return True
        if self._wanted.fits(record):
            self.found.append(record)
        return True


def _seq_of(line: bytes) -> int | None:
    try:
        return decode_envelope(line).seq
    except JournalError:
        return None


def _reversed_lines(text: bytes) -> Iterator[bytes]:
    """Yield complete lines, the last first; an incomplete one is still being written."""
    end = text.rfind(b"\n")
    while end > 0:
        begin = text.rfind(b"\n", 0, end)
        yield text[begin + 1 : end]
        end = begin
