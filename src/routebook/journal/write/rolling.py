"""Rolls (compresses) finished segments and deletes segments past retention, on a background thread."""

import threading
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Final

import zstandard

from routebook.journal.files import Files
from routebook.journal.segments import TEMPORARY_SUFFIX, Segment, Span, list_segments, rolled_name
from routebook.journal.write.options import JournalOptions

_ZSTD_LEVEL: Final = 6
_CHUNK_BYTES: Final = 256 * 1024
_INTERVAL_S: Final = 60.0  # also runs without a finished segment: retention may be due, or a full disk may have space


def roll_segment(files: Files, name: str, span: Span) -> str:
    """Compress the segment `name` and return the new name. Raises OSError.

    The compressed file is synced and renamed before the plain one is removed, so a crash leaves one of them or both.
    """
    target = rolled_name(span)
    temporary = target + TEMPORARY_SUFFIX
    files.remove(temporary)
    with files.open(name) as plain:
        file = files.create(temporary)
        try:
            # The checksum detects damage on disk. A single frame can be read by any zstd reader.
            compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compressobj()
            while chunk := plain.read(_CHUNK_BYTES):
                file.append(compressor.compress(chunk))
            file.append(compressor.flush())
            file.sync()
        finally:
            file.close()
    files.rename(temporary, target)
    files.remove(name)
    return target


def expired_segments(
    segments: Sequence[Segment], sizes: Mapping[str, int], *, now_ms: int, options: JournalOptions
) -> list[Segment]:
    """Return the oldest rolled segments that exceed the retention age or the total size.

    The result is a prefix of the journal without segments that are not rolled, so the rest stays contiguous.
    """
    total = sum(sizes.values())
    before_ms = now_ms - options.retain_age_s * 1000
    expired: list[Segment] = []
    for segment in segments:
        if segment.span is None or (segment.span.latest_ms >= before_ms and total <= options.retain_bytes):
            break
        expired.append(segment)
        total -= sizes.get(segment.name, 0)
    return expired


class SegmentRoller:
    """Receives finished segments through `finished`. A failure is stored in `problem` and retried in the next round."""

    def __init__(self, files: Files, *, options: JournalOptions, now_ms: Callable[[], int]) -> None:
        self._files = files
        self._options = options
        self._now_ms = now_ms
        self._queue: SimpleQueue[Mapping[str, Span]] = SimpleQueue()
        self._finished: dict[str, Span] = {}
        self._wake = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="journal-roller", daemon=True)
        self.problem: str | None = None
        self.rolled = 0
        self.removed = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current segment."""
        self._stopping = True
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()

    def finished(self, spans: Mapping[str, Span]) -> None:
        """Queue segments, by name, that are complete."""
        self._queue.put(spans)
        self._wake.set()

    def run_once(self) -> None:
        """Roll all queued segments and delete the expired ones."""
        while not self._queue.empty():
            self._finished.update(self._queue.get())
        try:
            for name, span in sorted(self._finished.items()):
                if self._stopping:
                    return
                self._roll(name, span)
            self._delete_expired()
            self.problem = None
        except OSError as problem:
            self.problem = str(problem)

    def _roll(self, name: str, span: Span) -> None:
        try:
            roll_segment(self._files, name, span)
            self.rolled += 1
        except FileNotFoundError:
            if name in self._files.names():
                raise
            # The segment was removed by someone else; readers report the hole.
        del self._finished[name]

    def _delete_expired(self) -> None:
        segments = list_segments(self._files.names()).segments
        sizes = {segment.name: self._files.size(segment.name) for segment in segments}
        for segment in expired_segments(segments, sizes, now_ms=self._now_ms(), options=self._options):
            self._files.remove(segment.name)
            self.removed += 1

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._wake.clear()
                self.run_once()
                self._wake.wait(_INTERVAL_S)
        finally:
            if not self._stopping:
                self.problem = "the journal-roller thread ended unexpectedly"
