"""Writes the journal of a NameServer in virtual time: the same lines as the real one, in rolled segments.

It does not fsync: a lost journal can be generated again from the seed.
"""

from collections.abc import Iterable
from pathlib import Path

import zstandard

from routebook.events import Event
from routebook.journal.files import FolderFiles
from routebook.journal.record import RecordEncoder
from routebook.journal.segments import TEMPORARY_SUFFIX, Span, rolled_name
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.sequence_reserve import SequenceReserve, write_reserve

_ZSTD_LEVEL = 6  # as in routebook.journal.write.rolling
_PART_BYTES = 1 << 20


class VirtualJournal:
    """An append-only journal of one NameServer. Segments roll by size and age; `boot` marks a process start."""

    def __init__(self, folder: Path, *, ns: str, options: JournalOptions | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        options = options or JournalOptions()
        self.folder = folder
        self.ns = ns
        self.seq = 0
        self.text_bytes = 0
        self._max_bytes = options.segment_bytes
        self._max_age_ms = options.segment_age_s * 1000
        self._line = RecordEncoder(ns=ns, boot="").line
        self._lines: list[bytes] = []
        self._waiting_bytes = 0
        self._size = 0
        self._first = 1
        self._earliest_ms = 0
        self._latest_ms = 0
        self._parts: list[bytes] = []
        self._compressor = _compressor()

    def boot(self, boot: str) -> None:
        """Start a segment for a new process start with this id."""
        self.roll()
        self._line = RecordEncoder(ns=self.ns, boot=boot).line

    def append(self, events: Iterable[Event], at_ms: int) -> None:
        """Number and write events of one time, which must not be before the last one."""
        seq, line, lines = self.seq, self._line, self._lines
        size = 0
        for event in events:
            seq += 1
            written = line(event, seq=seq, at_ms=at_ms)
            size += len(written)
            lines.append(written)
        if not size:
            return
        if not self._size:
            self._earliest_ms = at_ms
        self.seq = seq
        self._latest_ms = at_ms
        self._size += size
        self.text_bytes += size
        self._waiting_bytes += size
        if self._waiting_bytes >= _PART_BYTES:
            self._compress()
        if self._size >= self._max_bytes or at_ms - self._earliest_ms >= self._max_age_ms:
            self.roll()

    def roll(self) -> None:
        """End the segment if it is not empty."""
        if not self._size:
            return
        self._compress()
        self._parts.append(self._compressor.flush())
        span = Span(first=self._first, last=self.seq, earliest_ms=self._earliest_ms, latest_ms=self._latest_ms)
        path = self.folder / rolled_name(span)
        temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
        temporary.write_bytes(b"".join(self._parts))
        temporary.replace(path)
        self._parts = []
        self._compressor = _compressor()
        self._size = 0
        self._first = self.seq + 1

    def close(self) -> None:
        """Write everything; a real NameServer with this id can continue the folder."""
        self.roll()
        write_reserve(FolderFiles(self.folder), SequenceReserve(reserved=self.seq, clean=True))

    def _compress(self) -> None:
        self._parts.append(self._compressor.compress(b"".join(self._lines)))
        self._lines.clear()
        self._waiting_bytes = 0


def _compressor() -> "zstandard.ZstdCompressionObj":
    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compressobj()
