"""Follows the journal on a background thread and keeps the history index up to date.

The index holds nothing that the journal does not hold: if it is damaged, of another schema version or of another
journal, it is set aside and rebuilt.
"""

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import msgspec

from routebook.history.index.indexer import Indexer
from routebook.history.index.schema import Progress, Unusable, open_index, set_aside
from routebook.journal.files import Files
from routebook.journal.read.reader import Item, Line, follow, read
from routebook.journal.segments import Segment, list_segments

_POLL_S: Final = 1.0  # a longer interval means fewer transactions
_PRUNE_S: Final = 60.0
_BATCH_RECORDS: Final = 2000
_BATCH_S: Final = 1.0
_WORK_SLICE_S: Final = 0.005  # then the thread sleeps, so that the event loop runs
_STOP_S: Final = 2.0
_FIRST_RETRY_S: Final = 1.0
_LAST_RETRY_S: Final = 60.0
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class HistoryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Index status for health and metrics."""

    state: Literal["catching_up", "following", "failing", "stopped"]
    problem: str | None  # why it fails; it is retried
    set_aside: str | None  # why the file was rebuilt since the start
    last_seq: int  # newest indexed record
    last_at_ms: int
    records: int  # read since the start
    bytes: int  # file size


class IndexFollower:
    """Runs from `start` to `stop`; `status` is thread-safe.

    The thread works in slices of a few milliseconds and sleeps `rest` times as long, so that the event loop can run.
    """

    def __init__(
        self, path: Path, files: Files, *, rest: float = 2.0, log: Callable[[str], None] | None = None
    ) -> None:
        self._path = path
        self._files = files
        self._rest = rest
        self._log = log or (lambda _: None)
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self.state: Literal["catching_up", "following", "failing", "stopped"] = "catching_up"
        self._problem: str | None = None
        self._set_aside: str | None = None
        self._last_seq = self._last_at_ms = 0  # committed, not pending
        self._records = 0
        self._pruned_s = 0.0
        self._deadline_s = 0.0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop after indexing the rest of the journal, for at most two seconds."""
        self._deadline_s = time.monotonic() + _STOP_S
        self._stop.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()

    def wake(self) -> None:
        """Poll now: the journal has grown."""
        self._wake.set()

    def status(self) -> HistoryStatus:
        try:
            size = self._path.stat().st_size
        except OSError:
            size = 0
        return HistoryStatus(
            state=self.state,
            problem=self._problem,
            set_aside=self._set_aside,
            last_seq=self._last_seq,
            last_at_ms=self._last_at_ms,
            records=self._records,
            bytes=size,
        )

    # -- thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        retry_s = _FIRST_RETRY_S
        while True:
            before = self._records
            try:
                self._follow()
                break
            except (sqlite3.Error, OSError, Unusable) as problem:
                retry_s = _FIRST_RETRY_S if self._records > before else min(2 * retry_s, _LAST_RETRY_S)
                if not self._handle_failure(problem) and self._stop.wait(retry_s):
                    break
        self.state = "stopped"

    def _handle_failure(self, problem: Exception) -> bool:
        """Return whether to retry at once: the file was damaged and has been set aside."""
        reason = str(problem) or type(problem).__name__
        if getattr(problem, "sqlite_errorcode", None) in _BROKEN and self._set_aside_index(reason):
            return True
        if reason != self._problem:
            self._log(f"history is not indexed: {reason}; retrying")
        self.state, self._problem = "failing", reason
        return False

    def _follow(self) -> None:
        indexer, db = self._open()
        try:
            batch = _Batch(self, indexer)
            for item in follow(self._files, from_seq=_next(indexer.progress), wait=batch.wait):
                batch.add(item)
                if self._stop.is_set() and time.monotonic() > self._deadline_s:
                    batch.commit()
                    return
        finally:
            db.close()

    def _open(self) -> tuple[Indexer, sqlite3.Connection]:
        """Open the index and check that it belongs to the journal."""
        for _ in range(2):
            try:
                db = open_index(self._path)
            except (Unusable, sqlite3.DatabaseError) as problem:
                if isinstance(problem, sqlite3.Error) and problem.sqlite_errorcode not in _BROKEN:
                    raise
                self._set_aside_index(str(problem))
                continue
            indexer = Indexer(db)
            wrong = why_unusable(self._files, indexer.progress)
            if wrong is None:
                self.indexed(0, indexer.progress)
                return indexer, db
            db.close()
            self._set_aside_index(wrong)
        raise Unusable(f"{self._path.name} cannot be rebuilt")

    def _set_aside_index(self, why: str) -> bool:
        try:
            aside = set_aside(self._path)
        except OSError:
            return False
        self._set_aside = why
        self._log(f"history index set aside as {aside.name} and rebuilt: {why}")
        return True

    # -- called by the batch ---------------------------------------------------------------------------------------

    def indexed(self, records: int, progress: Progress) -> None:
        self._records += records
        self._last_seq, self._last_at_ms = progress.last_seq, progress.at_max

    def rest(self, worked_s: float) -> None:
        self._stop.wait(worked_s * self._rest)

    def idle(self) -> bool:
        """Wait for new records; return False to stop."""
        self.state, self._problem = "following", None
        if self._stop.is_set():
            return False
        self._wake.wait(_POLL_S)
        self._wake.clear()
        return True

    def oldest_segment(self) -> Segment | None:
        """Return the journal's first segment when pruning is due, else None."""
        now_s = time.monotonic()
        if self._pruned_s and now_s - self._pruned_s < _PRUNE_S:
            return None
        self._pruned_s = now_s
        return next(iter(list_segments(self._files.names()).segments), None)


class _Batch:
    """Records that are read but not committed."""

    def __init__(self, follower: IndexFollower, indexer: Indexer) -> None:
        self._follower = follower
        self._indexer = indexer
        self._count = 0
        self._since_s = 0.0
        self._rested_s = time.monotonic()

    def add(self, item: Item) -> None:
        self._indexer.add(item)
        now_s = time.monotonic()
        if not self._count:
            self._since_s = now_s
        self._count += 1
        if self._count >= _BATCH_RECORDS or now_s - self._since_s > _BATCH_S:
            self.commit()
            now_s = time.monotonic()
        worked_s = now_s - self._rested_s  # includes the time of the journal reader
        if worked_s >= _WORK_SLICE_S:
            self._follower.rest(worked_s)
            self._rested_s = time.monotonic()

    def commit(self) -> None:
        if self._count:
            self._indexer.commit()
            self._follower.indexed(self._count, self._indexer.progress)
            self._count = 0

    def wait(self) -> bool:
        self.commit()
        oldest = self._follower.oldest_segment()
        if oldest is not None and oldest.span is not None:
            self._indexer.prune_before(oldest.first, oldest.span.earliest_ms)
        is_running = self._follower.idle()
        self._rested_s = time.monotonic()
        return is_running


def why_unusable(files: Files, progress: Progress) -> str | None:
    """Return why an index does not belong to this journal; None if it does."""
    if progress.empty:
        return None
    segments = list_segments(files.names()).segments
    if segments and segments[0].first > progress.last_seq:
        return None  # retention deleted the record; the journal reader reports a hole
    for item in read(files, from_seq=progress.last_seq):
        if isinstance(item, Line):
            record = item.record
            if (record.ns, record.boot, record.seq, record.at) == (
                progress.ns,
                progress.boot,
                progress.last_seq,
                progress.last_at,
            ):
                return None
            break
    return f"it ends with record {progress.last_seq}, which is not in the journal"


def _next(progress: Progress) -> int | None:
    return None if progress.empty else progress.last_seq + 1
