"""The journal writer: queues records in memory and writes them in batches (group commit) on its own thread.

    append ──► Backlog ──► commit: OpenSegment, fsync ──► durable
      event loop   │          journal-writer thread         futures
                   └─ full: dropped, counted, recorded as a JournalHole

A failing disk stops the journal, never the caller: the backlog holds what fits, the rest is counted, and the write is
retried with growing delays.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Literal

import msgspec

from routebook.errors import JournalDegraded, JournalError
from routebook.events import Event
from routebook.journal.chain import Chain
from routebook.journal.files import Files
from routebook.journal.record import RecordEncoder
from routebook.journal.write.audit import AuditStream
from routebook.journal.write.backlog import Backlog, Pending
from routebook.journal.write.open_segment import OpenSegment
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.rolling import SegmentRoller
from routebook.journal.write.sequence_reserve import SequenceReserve, write_reserve


class JournalStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Journal status for health and metrics. Counters start at zero with the process."""

    state: Literal["writing", "degraded", "stopped"]
    reason: str | None  # why it is degraded
    last_seq: int  # last assigned number
    durable_seq: int  # last number on disk
    waiting_records: int
    waiting_bytes: int
    lag_ms: int  # age of the oldest waiting record
    written_records: int
    written_bytes: int
    dropped_records: int
    holes: int  # ranges of missing numbers
    commits: int
    failures: int
    rolled_segments: int
    removed_segments: int
    removed_unarchived: int  # segments that retention removed before they were archived
    rolling_problem: str | None  # why segments are not rolled or removed
    damaged_segments: tuple[str, ...]  # rolled segments that cannot be read, with the reasons


class Writer:
    """`append`, `durable` and `status` are thread-safe and never wait for the disk."""

    def __init__(
        self,
        files: Files,
        *,
        encoder: RecordEncoder,
        next_seq: int,
        options: JournalOptions,
        now_ms: Callable[[], int],
        prepare: Callable[[], Chain] | None = None,
        audit: AuditStream | None = None,
    ) -> None:
        """`prepare` must succeed before the first write; while it raises OSError the journal is degraded.

        It returns the hash chain after the existing records. Expired records of administrators are kept in `audit`.
        """
        self._files = files
        self._options = options
        self._now_ms = now_ms
        self._prepare = prepare
        self._segment = OpenSegment(files, options=options)
        self._reserved = 0
        self.roller = SegmentRoller(files, options=options, now_ms=now_ms, audit=audit)
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        # the lock guards everything below
        self._wake = threading.Condition(threading.Lock())
        self._backlog = Backlog(encoder, next_seq=next_seq, options=options)
        self._waiters: list[tuple[int, Future[None]]] = []
        self._waiting_since_s = 0.0
        self._durable_seq = next_seq - 1
        self._head: tuple[int, str] | None = None
        self._problem: str | None = None
        self._retry_s = 0.0
        self._retry_at_s = 0.0
        self._stopping = False
        self._stopped = False
        self._died = False
        self._written_records = 0
        self._written_bytes = 0
        self._commits = 0
        self._failures = 0

    # -- callers, on any thread ----------------------------------------------------------------------------------

    def append(self, event: Event, at_ms: int) -> int:
        """Queue an event and return its sequence number. An event that cannot be written becomes part of a hole.

        Returns 0 if the event was dropped in an outage so long that all reserved numbers are used.
        """
        with self._wake:
            if self._stopped:
                raise JournalError("the journal is closed")
            backlog = self._backlog
            was_empty = not backlog
            was_small = backlog.bytes < self._options.batch_bytes
            seq = backlog.add(event, at_ms, why_full=self._problem or "records arrived faster than the disk wrote")
            if was_empty:
                self._waiting_since_s = time.monotonic()
            if was_empty or (was_small and backlog.bytes >= self._options.batch_bytes):
                self._wake.notify()
            return seq

    def durable(self, seq: int) -> "Future[None]":
        """Commit at once; the future completes when the record is on disk, or fails with JournalDegraded.

        A record that fails here may still be written later.
        """
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()  # the caller can no longer cancel it
        with self._wake:
            if seq >= self._backlog.next_seq:
                raise JournalError(f"no record has the number {seq} yet")
            if not seq or self._backlog.is_dropped(seq):
                problem = self._problem or "the backlog is full"
                self._retry_at_s = 0.0  # retry now, so that the next admin write succeeds if the disk works again
                self._wake.notify()
            elif seq <= self._durable_seq:
                problem = None
            elif self._stopped or self._died:
                problem = self._problem or "the journal is closed"
            else:
                self._waiters.append((seq, future))
                self._wake.notify()
                return future
        if problem is None:
            future.set_result(None)
        else:
            future.set_exception(JournalDegraded(f"record {seq} is not on disk: {problem}"))
        return future

    def record_skipped(self, first: int, last: int, *, why: str, certain: bool) -> None:
        """Record a hole for numbers that are missing from before this start."""
        with self._wake:
            self._backlog.record_hole(first, last, why=why, at_ms=self._now_ms(), certain=certain)
            self._waiting_since_s = time.monotonic()
            self._wake.notify()

    def status(self) -> JournalStatus:
        with self._wake:
            backlog = self._backlog
            waited_s = time.monotonic() - self._waiting_since_s if backlog else 0.0
            return JournalStatus(
                state="stopped" if self._stopped else "degraded" if self._problem else "writing",
                reason=self._problem,
                last_seq=backlog.next_seq - 1,
                durable_seq=self._durable_seq,
                waiting_records=len(backlog),
                waiting_bytes=backlog.bytes,
                lag_ms=int(waited_s * 1000),
                written_records=self._written_records,
                written_bytes=self._written_bytes,
                dropped_records=backlog.dropped,
                holes=backlog.holes,
                commits=self._commits,
                failures=self._failures,
                rolled_segments=self.roller.rolled,
                removed_segments=self.roller.removed,
                removed_unarchived=self.roller.removed_unarchived,
                rolling_problem=self.roller.problem,
                damaged_segments=self.roller.damaged,
            )

    def heads(self) -> dict[str, tuple[int, str]]:
        """The heads of the hash chains on disk, by stream: the last number, and the hash up to it."""
        with self._wake:
            found = {"journal": self._head, "audit": self.roller.audit_head}
        return {stream: head for stream, head in found.items() if head is not None}

    # -- start and stop ------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()
        self.roller.start()

    def stop(self, *, roll: bool = False) -> bool:
        """Write the backlog and stop; return whether all of it is on disk. The rest is lost.

        With `roll` the last segment is compressed, too, so that it can be archived.
        """
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.ident is not None:
            self._thread.join()
        else:
            self._finish()
        self.roller.stop()
        if roll:
            self.roller.finished({done.name: done.span for done in self._segment.finished})
            try:
                self.roller.roll_rest()
            except OSError as problem:  # the next start rolls it
                self.roller.problem = str(problem)
        return not self._backlog

    def _run(self) -> None:
        try:
            while self._wait():
                self.commit()
            self._finish()
        finally:  # after an unexpected exception: fail all waiters, and health reports the problem
            with self._wake:
                if not self._stopped:
                    self._died = True
                    self._problem = "the journal-writer thread ended unexpectedly"
                waiters = self._take_waiters(None)
            _fail_waiters(waiters, self._problem or "the journal is closed")

    def _wait(self) -> bool:
        """Wait until a commit is due; return False to stop."""
        with self._wake:
            while not self._stopping:
                now_s = time.monotonic()
                due_s = self._due_s(now_s)
                if due_s <= now_s:
                    break
                self._wake.wait(min(due_s - now_s, threading.TIMEOUT_MAX))
            return not self._stopping

    def _due_s(self, now_s: float) -> float:
        """Return the time of the next commit."""
        if self._waiters:
            return now_s
        if self._problem is not None:
            return self._retry_at_s
        if self._backlog.bytes >= self._options.batch_bytes:
            return now_s
        due_s = now_s + self._segment.due_s(now_s)
        if self._backlog or self._backlog.is_dropping:  # dropping: reserve numbers and record the hole
            due_s = min(due_s, self._waiting_since_s + self._options.commit_ms / 1000)
        return due_s

    def _finish(self) -> None:
        while True:
            with self._wake:
                if not self._backlog and not self._backlog.is_dropping:
                    break
            if not self.commit(is_last=True):
                break
        self._segment.roll()
        with self._wake:
            clean = self._problem is None and not self._backlog and not self._backlog.is_dropping
            self._stopped = True
            last = self._backlog.next_seq - 1
        if clean and last:
            self._reserve_clean(last)

    # -- one commit ----------------------------------------------------------------------------------------------

    def commit(self, *, is_last: bool = False) -> bool:
        """Write one batch of the backlog, the last one if it is all that is left; return False if the write failed."""
        with self._wake:
            batch = self._backlog.front(self._options.batch_bytes)
            next_seq = self._backlog.next_seq
            is_last = is_last and len(batch) == len(self._backlog)
        now_s = time.monotonic()
        try:
            if self._prepare is not None:
                self._segment.chain = self._prepare()
                self._prepare = None
            self._reserve(next_seq)
            if batch:
                self._segment.commit(batch, now_s=now_s, is_last=is_last)
            elif self._segment.due_s(now_s) <= 0:
                self._segment.roll()
        except OSError as problem:
            self._fail(problem, now_s)
            return False
        self._succeed(batch, now_s)
        return True

    def _reserve(self, next_seq: int) -> None:
        """Reserve on disk the numbers that may be assigned until the next commit."""
        if next_seq + self._options.queue_records > self._reserved:
            reserved = next_seq + 2 * self._options.queue_records
            write_reserve(self._files, SequenceReserve(reserved=reserved))
            self._reserved = reserved
            with self._wake:
                self._backlog.limit = max(self._backlog.limit, reserved)

    def _reserve_clean(self, last: int) -> None:
        try:
            write_reserve(self._files, SequenceReserve(reserved=last, clean=True))
        except OSError as problem:  # all records are written; the next start skips a few numbers
            with self._wake:
                self._problem = str(problem)

    def _succeed(self, batch: list[Pending], now_s: float) -> None:
        lost, self._segment.lost = self._segment.lost, []
        finished, self._segment.finished = self._segment.finished, []
        head = self._segment.chain.head
        with self._wake:
            backlog = self._backlog
            backlog.done(len(batch))
            if batch:
                self._head = (batch[-1].seq, head)
                self._durable_seq = batch[-1].seq
                self._written_records += len(batch)
                self._written_bytes += sum(len(pending.line) for pending in batch)
                self._commits += 1
            for span in lost:
                why = "the segment was deleted while it was open"
                backlog.record_hole(span.first, span.last, why=why, at_ms=self._now_ms())
            backlog.record_dropped(self._now_ms())
            self._problem = None
            self._retry_s = 0.0
            self._waiting_since_s = now_s
            waiters = self._take_waiters(self._durable_seq)
        for _, future in waiters:
            future.set_result(None)
        if finished:
            self.roller.finished({segment.name: segment.span for segment in finished})

    def _fail(self, problem: OSError, now_s: float) -> None:
        with self._wake:
            self._failures += 1
            self._problem = str(problem)
            self._retry_s = min(max(2 * self._retry_s, self._options.retry_first_s), self._options.retry_last_s)
            self._retry_at_s = now_s + self._retry_s
            waiters = self._take_waiters(None)
        _fail_waiters(waiters, str(problem))
        self._reserved = 0  # the reserve may be affected by the same failure

    def _take_waiters(self, up_to: int | None) -> list[tuple[int, "Future[None]"]]:
        taken = [waiter for waiter in self._waiters if up_to is None or waiter[0] <= up_to]
        self._waiters = [waiter for waiter in self._waiters if up_to is not None and waiter[0] > up_to]
        return taken


def _fail_waiters(waiters: list[tuple[int, "Future[None]"]], why: str) -> None:
    for seq, future in waiters:
        future.set_exception(JournalDegraded(f"record {seq} is not on disk: {why}"))
