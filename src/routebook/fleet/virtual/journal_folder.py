"""The journal that a NameServer would have written in virtual time: the same lines, in rolled segments.

Nothing waits for the disk: whoever loses it makes it again from the seed.
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

_LEVEL = 6  # as routebook.journal.write.rolling
_PART_BYTES = 1 << 20


class JournalFolder:
    """Append-only, one NameServer. `boot` begins a start; segments roll by size and age as the options say."""

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
        """A start of the NameServer: its records bear this id, and begin a segment."""
        self.roll()
        self._line = RecordEncoder(ns=self.ns, boot=boot).line

    def append(self, events: Iterable[Event], at_ms: int) -> None:
        """Number and write events that happened at one time, not before those that were appended last."""
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
        """End the segment, if it holds anything."""
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
        """All is written, and the folder can be continued by a real NameServer of this id."""
        self.roll()
        write_reserve(FolderFiles(self.folder), SequenceReserve(reserved=self.seq, clean=True))

    def _compress(self) -> None:
        self._parts.append(self._compressor.compress(b"".join(self._lines)))
        self._lines.clear()
        self._waiting_bytes = 0


def _compressor() -> "zstandard.ZstdCompressionObj":
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compressobj()
