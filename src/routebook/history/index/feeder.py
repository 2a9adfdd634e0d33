"""Feeds an index from its journal on a thread of its own, from where it was, for as long as the server lives.

The file is worth nothing that the journal does not hold: one that is damaged, of another version or of another journal
is set aside and made again.
"""

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import msgspec

from routebook.history.index.indexer import Indexer
from routebook.history.index.schema import Unusable, open_index, set_aside
from routebook.history.index.state import Progress
from routebook.journal.files import Files
from routebook.journal.read.reader import Item, Line, follow, read
from routebook.journal.segments import Segment, list_segments

_POLL_S: Final = 1.0  # later is cheaper: what came meanwhile is one transaction
_PRUNE_S: Final = 60.0
_BATCH_RECORDS: Final = 2000
_BATCH_S: Final = 1.0
_BREATH_S: Final = 0.005  # of work; then the event loop gets its turn
_STOP_S: Final = 2.0
_FIRST_RETRY_S: Final = 1.0
_LAST_RETRY_S: Final = 60.0
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class HistoryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What health and metrics tell of the index."""

    state: Literal["catching_up", "following", "failing", "stopped"]
    problem: str | None  # why it fails; it is tried again
    set_aside: str | None  # why the file was made again since the start
    last_seq: int  # the newest record in it
    last_at_ms: int
    records: int  # read since the start
    bytes: int  # of the file


class Feeder:
    """`start`, then it follows; `stop` when the server does. `status` from any thread.

    It rests for `rest` times as long as it works, every few milliseconds, so that the event loop hardly notices.
    """

    def __init__(
        self, path: Path, files: Files, *, rest: float = 2.0, told: Callable[[str], None] | None = None
    ) -> None:
        self._path = path
        self._files = files
        self._rest = rest
        self._told = told or (lambda _: None)
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._state: Literal["catching_up", "following", "failing", "stopped"] = "catching_up"
        self._problem: str | None = None
        self._set_aside: str | None = None
        self._last_seq = self._last_at_ms = 0  # of what is in the file, not of what is about to be
        self._records = 0
        self._pruned_s = 0.0
        self._last_s = 0.0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What the journal holds now is still indexed, unless that takes longer than a second or two."""
        self._last_s = time.monotonic() + _STOP_S
        self._stop.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()

    def wake(self) -> None:
        """The journal has grown: no need to wait for the next look."""
        self._wake.set()

    def status(self) -> HistoryStatus:
        try:
            size = self._path.stat().st_size
        except OSError:
            size = 0
        return HistoryStatus(
            state=self._state,
            problem=self._problem,
            set_aside=self._set_aside,
            last_seq=self._last_seq,
            last_at_ms=self._last_at_ms,
            records=self._records,
            bytes=size,
        )

    # -- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        retry_s = _FIRST_RETRY_S
        while True:
            before = self._records
            try:
                self._follow()
                break
            except (sqlite3.Error, OSError, Unusable) as problem:
                retry_s = _FIRST_RETRY_S if self._records > before else min(2 * retry_s, _LAST_RETRY_S)
                if not self._fail(problem) and self._stop.wait(retry_s):
                    break
        self._state = "stopped"

    def _fail(self, problem: Exception) -> bool:
        """Whether to try again at once: the file was damaged, and is out of the way."""
        reason = str(problem) or type(problem).__name__
        if getattr(problem, "sqlite_errorcode", None) in _BROKEN and self._make_again(reason):
            return True
        if reason != self._problem:
            self._told(f"history is not indexed: {reason}; trying again")
        self._state, self._problem = "failing", reason
        return False

    def _follow(self) -> None:
        indexer, db = self._open()
        try:
            batch = _Batch(self, indexer)
            for item in follow(self._files, from_seq=_next(indexer.progress), wait=batch.wait):
                batch.add(item)
                if self._stop.is_set() and time.monotonic() > self._last_s:
                    batch.commit()
                    return
        finally:
            db.close()

    def _open(self) -> tuple[Indexer, sqlite3.Connection]:
        """The index, sure to fit its journal."""
        for _ in range(2):
            try:
                db = open_index(self._path)
            except (Unusable, sqlite3.DatabaseError) as problem:
                if isinstance(problem, sqlite3.Error) and problem.sqlite_errorcode not in _BROKEN:
                    raise
                self._make_again(str(problem))
                continue
            indexer = Indexer(db)
            wrong = misfit(self._files, indexer.progress)
            if wrong is None:
                self.took(0, indexer.progress)
                return indexer, db
            db.close()
            self._make_again(wrong)
        raise Unusable(f"{self._path.name} cannot be made again")

    def _make_again(self, why: str) -> bool:
        try:
            aside = set_aside(self._path)
        except OSError:
            return False
        self._set_aside = why
        self._told(f"history index set aside as {aside.name} and made again: {why}")
        return True

    # -- what a batch tells ----------------------------------------------------------------------------------------

    def took(self, records: int, progress: Progress) -> None:
        self._records += records
        self._last_seq, self._last_at_ms = progress.last_seq, progress.at_max

    def rest(self, worked_s: float) -> None:
        self._stop.wait(worked_s * self._rest)

    def idle(self) -> bool:
        """All is read: wait for more; False: stop."""
        self._state, self._problem = "following", None
        if self._stop.is_set():
            return False
        self._wake.wait(_POLL_S)
        self._wake.clear()
        return True

    def oldest(self) -> Segment | None:
        """Now and then: the journal's first segment."""
        now_s = time.monotonic()
        if self._pruned_s and now_s - self._pruned_s < _PRUNE_S:
            return None
        self._pruned_s = now_s
        return next(iter(list_segments(self._files.names()).segments), None)


class _Batch:
    """What was read and is not in the file yet."""

    def __init__(self, feeder: Feeder, indexer: Indexer) -> None:
        self._feeder = feeder
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
        worked_s = now_s - self._rested_s  # the reader's work counts, too
        if worked_s >= _BREATH_S:
            self._feeder.rest(worked_s)
            self._rested_s = time.monotonic()

    def commit(self) -> None:
        if self._count:
            self._indexer.commit()
            self._feeder.took(self._count, self._indexer.progress)
            self._count = 0

    def wait(self) -> bool:
        self.commit()
        oldest = self._feeder.oldest()
        if oldest is not None and oldest.span is not None:
            self._indexer.forget_before(oldest.first, oldest.span.earliest_ms)
        goes_on = self._feeder.idle()
        self._rested_s = time.monotonic()
        return goes_on


def misfit(files: Files, progress: Progress) -> str | None:
    """Why an index cannot go on with this journal; None if it can."""
    if progress.empty:
        return None
    segments = list_segments(files.names()).segments
    if segments and segments[0].first > progress.last_seq:
        return None  # retention was faster: a hole, and the journal's reader tells of it
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
    return f"it ends with record {progress.last_seq}, which the journal does not have"


def _next(progress: Progress) -> int | None:
    return None if progress.empty else progress.last_seq + 1
