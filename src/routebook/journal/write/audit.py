"""The audit stream: records of administrators that outlive the journal, in a folder of the same format.

    journal segment past retention ──► its audit records are appended here and synced ──► the segment is removed

Only kinds that need `admin_write` are kept, and the starts and stops between them: nothing that a broker or a client
sends can use up the space of this stream. Records keep their numbers and text; the hash chain is the stream's own.
"""

import re
import time
from collections.abc import Callable, Sequence
from typing import Final

from routebook.errors import JournalError
from routebook.journal.chain import Chain, chain_after, without_link
from routebook.journal.files import Files
from routebook.journal.read.lines import RawLine, read_lines, text_of
from routebook.journal.record import decode_envelope
from routebook.journal.segments import Segment, Span, extend_span, list_segments
from routebook.journal.write.backlog import Pending
from routebook.journal.write.open_segment import OpenSegment
from routebook.journal.write.options import JournalOptions

AUDIT_KINDS: Final = frozenset(
    {
        "kv_changed",
        "setting_changed",
        "permission_wiped",
        "permission_restored",
        "topic_deleted",
        "replicas_cleaned",
        "server_started",
        "server_stopped",
    }
)
_ELECTIONS: Final = frozenset({"master_elected", "no_master_elected"})  # audit records if an operator asked
_BY_OPERATOR: Final = b'"cause":"operator"'  # quotes in a name are escaped, so only the field matches
_CANDIDATE: Final = re.compile(rb'"kind":"(?:%b)"' % "|".join(sorted(AUDIT_KINDS | _ELECTIONS)).encode())
_HEAD_BYTES: Final = 1024  # the kind follows the envelope


def audit_records(files: Files, segment: Segment) -> list[Pending]:
    """The audit records of a segment, without links; unreadable lines are skipped. Raises OSError."""
    found = []
    for line in read_lines(files, segment):
        if isinstance(line, RawLine) and _CANDIDATE.search(line.raw, 0, _HEAD_BYTES):
            try:
                envelope = decode_envelope(line.raw)
            except JournalError:
                continue
            if envelope.kind in AUDIT_KINDS or (envelope.kind in _ELECTIONS and _BY_OPERATOR in line.raw):
                found.append(Pending(envelope.seq, envelope.at, without_link(line.raw) + b"\n"))
    return found


def chain_at_end(files: Files) -> Chain:
    """The hash chain after the newest record; not started if the newest segment has no link. Raises OSError."""
    segments = list_segments(files.names()).segments
    return chain_after(text_of(files, segments[-1])) if segments else Chain()


class AuditStream:
    """Used by the roller's thread. `head` is the end of its hash chain; None: it has no record yet."""

    def __init__(self, files: Files, *, options: JournalOptions, now_ms: Callable[[], int]) -> None:
        self.files = files
        self.options = options
        self.now_ms = now_ms
        self.head: tuple[int, str] | None = None
        self.finished: dict[str, Span] = {}  # plain segments, to be rolled
        self._segment: OpenSegment | None = None
        self._last = 0

    def open(self) -> None:
        """Continue after the existing records. Raises OSError."""
        if self._segment is not None:
            return
        for segment in list_segments(self.files.names()).segments:
            self._last = max(self._last, segment.first if segment.span is None else segment.span.last)
            if segment.span is None:
                self._examine(segment)
        opened = OpenSegment(self.files, options=self.options)
        opened.chain = chain_at_end(self.files)
        self._segment = opened
        if opened.chain.is_started:
            self.head = (self._last, opened.chain.head)

    def add(self, records: Sequence[Pending]) -> None:
        """Append and sync those records that the stream does not have yet. Raises OSError."""
        self.open()
        new = [record for record in records if record.seq > self._last]
        if self._segment is None or not new:
            return
        self._segment.commit(new, now_s=time.monotonic())
        self._last = new[-1].seq
        self.head = (self._last, self._segment.chain.head)
        for done in self._segment.finished:
            self.finished[done.name] = done.span
        self._segment.finished.clear()

    def _examine(self, segment: Segment) -> None:
        """Find the records of a segment of an earlier start, and cut off a torn last line."""
        span, end = None, 0
        for found in read_lines(self.files, segment):
            if isinstance(found, RawLine):
                try:
                    envelope = decode_envelope(found.raw)
                except JournalError:
                    continue
                span, end = extend_span(span, envelope.seq, envelope.at), found.end
        if span is None:
            self.files.remove(segment.name)
            return
        if end < self.files.size(segment.name):
            self.files.truncate(segment.name, end)
        self._last = max(self._last, span.last)
        self.finished[segment.name] = span
