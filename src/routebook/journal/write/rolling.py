"""Rolls (compresses) finished segments, deletes expired ones and finds damaged ones, on a background thread."""

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Final

import zstandard

from routebook.journal.expired import write_expired
from routebook.journal.files import Files
from routebook.journal.read.lines import damage_in
from routebook.journal.segments import TEMPORARY_SUFFIX, Segment, Span, list_segments, rolled_name
from routebook.journal.write.audit import AuditStream, audit_records
from routebook.journal.write.options import JournalOptions

_ZSTD_LEVEL: Final = 6
_CHUNK_BYTES: Final = 256 * 1024
_UNARCHIVED_FACTOR: Final = 2  # segments that are not archived yet may take twice the retention size
_NEVER_S: Final = 1 << 40
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


def _roll(files: Files, name: str, span: Span) -> bool:
    """Return False if the segment was removed by someone else; readers report the hole."""
    try:
        roll_segment(files, name, span)
    except FileNotFoundError:
        if name in files.names():
            raise
        return False
    return True


def expired_segments(
    segments: Sequence[Segment], sizes: Mapping[str, int], *, before_ms: int, retain_bytes: int
) -> list[Segment]:
    """Return the oldest rolled segments that exceed the retention age or the total size.

    The result is a prefix of the journal without segments that are not rolled, so the rest stays contiguous.
    """
    total = sum(sizes.values())
    expired: list[Segment] = []
    for segment in segments:
        if segment.span is None or (segment.span.latest_ms >= before_ms and total <= retain_bytes):
            break
        expired.append(segment)
        total -= sizes.get(segment.name, 0)
    return expired


class SegmentRoller:
    """Receives finished segments through `finished`. A failure is stored in `problem` and retried in the next round."""

    def __init__(
        self, files: Files, *, options: JournalOptions, now_ms: Callable[[], int], audit: AuditStream | None = None
    ) -> None:
        self._files = files
        self._options = options
        self._now_ms = now_ms
        self._audit = audit
        self._scrubbed = 0  # first number of the segment that was checked last
        self._damaged: dict[str, str] = {}
        self._queue: SimpleQueue[Mapping[str, Span]] = SimpleQueue()
        self._finished: dict[str, Span] = {}
        self._wake = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="journal-roller", daemon=True)
        self.problem: str | None = None
        self.rolled = 0
        self.removed = 0
        self.removed_unarchived = 0
        self.is_archived: Callable[[str], bool] | None = None  # set if segments are archived before they are removed
        self.on_rolled: Callable[[], None] = lambda: None

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

    @property
    def damaged(self) -> tuple[str, ...]:
        """The rolled segments that cannot be read, with the reasons."""
        return tuple(f"{name}: {why}" for name, why in sorted(self._damaged.items()))

    @property
    def audit_head(self) -> tuple[int, str] | None:
        """The end of the audit stream's hash chain."""
        return None if self._audit is None else self._audit.head

    def run_once(self) -> None:
        """Roll all queued segments, delete the expired ones, and check the next rolled one for damage."""
        while not self._queue.empty():
            self._finished.update(self._queue.get())
        try:
            for name, span in sorted(self._finished.items()):
                if self._stopping:
                    return
                self._roll_one(name, span)
            self._delete_expired()
            if self._audit is not None:
                self._maintain_audit(self._audit)
            self.problem = None
            self._scrub()
        except OSError as problem:
            self.problem = str(problem)

    def roll_rest(self) -> None:
        """After `stop`: roll what is finished, so that it can be archived. Raises OSError."""
        while not self._queue.empty():
            self._finished.update(self._queue.get())
        for name, span in sorted(self._finished.items()):
            self._roll_one(name, span)

    def _roll_one(self, name: str, span: Span) -> None:
        self.rolled += _roll(self._files, name, span)
        del self._finished[name]
        self.on_rolled()

    def _delete_expired(self) -> None:
        options = self._options
        too_many = self._expired(
            self._files, age_s=_NEVER_S, max_bytes=_UNARCHIVED_FACTOR * options.retain_bytes
        )  # deleted even if the archive is unreachable
        for segment in self._expired(self._files, age_s=options.retain_age_s, max_bytes=options.retain_bytes):
            if self.is_archived is not None and not self.is_archived(segment.name):
                if segment not in too_many:
                    break
                self.removed_unarchived += 1
            if self._audit is not None:  # on disk there before it is removed here
                self._audit.add(audit_records(self._files, segment))
            last = segment.first if segment.span is None else segment.span.last
            write_expired(self._files, last)
            self._files.remove(segment.name)
            self.removed += 1

    def _maintain_audit(self, audit: AuditStream) -> None:
        audit.open()
        for name, span in list(audit.finished.items()):
            _roll(audit.files, name, span)
            del audit.finished[name]
        options = self._options
        for segment in self._expired(
            audit.files, age_s=options.audit_retain_age_s, max_bytes=options.audit_retain_bytes
        ):
            audit.files.remove(segment.name)

    def _expired(self, files: Files, *, age_s: int, max_bytes: int) -> list[Segment]:
        segments = list_segments(files.names()).segments
        sizes = {segment.name: files.size(segment.name) for segment in segments}
        before_ms = self._now_ms() - age_s * 1000
        return expired_segments(segments, sizes, before_ms=before_ms, retain_bytes=max_bytes)

    def _scrub(self) -> None:
        """Read the next rolled segment: a damaged one is found while a backup of it may still exist."""
        rolled = [segment for segment in list_segments(self._files.names()).segments if segment.rolled]
        names = {segment.name for segment in rolled}
        self._damaged = {name: why for name, why in self._damaged.items() if name in names}
        following = [segment for segment in rolled if segment.first > self._scrubbed] or rolled
        for segment in following[:1]:
            self._scrubbed = segment.first
            with contextlib.suppress(FileNotFoundError):
                why = damage_in(self._files, segment)
                if why is None:
                    self._damaged.pop(segment.name, None)
                else:
                    self._damaged[segment.name] = why

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._wake.clear()
                self.run_once()
                self._wake.wait(_INTERVAL_S)
        finally:
            if not self._stopping:
                self.problem = "the journal-roller thread ended unexpectedly"
