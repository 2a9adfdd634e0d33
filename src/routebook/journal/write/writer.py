"""Writes the journal on its own thread: records are handed over in memory and go to disk in groups.

    append ──► Backlog ──► commit: SegmentLog, fsync ──► durable
      event loop   │          journal-writer thread        futures
                   └─ full: dropped, counted, told by a JournalHole

A failing disk stops the journal, never the caller: what fits is held back, the rest is counted, and it is tried again,
ever more rarely, until the disk takes it.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Literal

import msgspec

from routebook.errors import JournalDegraded, JournalError
from routebook.events import Event
from routebook.journal.files import Files
from routebook.journal.record import RecordEncoder
from routebook.journal.write.backlog import Backlog, Pending
from routebook.journal.write.open_segment import SegmentLog
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.sequence_reserve import Mark, write_mark
from routebook.journal.write.upkeep import Upkeep


class JournalStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What health and metrics tell of the journal. Counts are since the start."""

    state: Literal["writing", "degraded", "stopped"]
    reason: str | None  # why it is degraded
    last_seq: int  # handed out
    durable_seq: int  # on disk
    waiting_records: int
    waiting_bytes: int
    lag_ms: int  # how long the oldest of them has waited
    written_records: int
    written_bytes: int
    dropped_records: int
    holes: int  # stretches of numbers that are missing
    commits: int
    failures: int
    rolled_segments: int
    removed_segments: int
    upkeep_problem: str | None  # why segments are not rolled or removed


class Writer:
    """`append`, `durable` and `status` may be called from any thread, and never wait for the disk."""

    def __init__(
        self,
        files: Files,
        *,
        encoder: RecordEncoder,
        next_seq: int,
        options: JournalOptions,
        now_ms: Callable[[], int],
        prepare: Callable[[], None] | None = None,
    ) -> None:
        """`prepare` has to succeed before the first write; while it raises OSError the journal is degraded."""
        self._files = files
        self._options = options
        self._now_ms = now_ms
        self._prepare = prepare
        self._log = SegmentLog(files, options=options)
        self._reserved = 0
        self.upkeep = Upkeep(files, options=options, now_ms=now_ms)
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        # the lock guards all below
        self._wake = threading.Condition(threading.Lock())
        self._backlog = Backlog(encoder, next_seq=next_seq, options=options)
        self._waiters: list[tuple[int, Future[None]]] = []
        self._waiting_since_s = 0.0
        self._durable_seq = next_seq - 1
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

    # -- for those who have something to say ---------------------------------------------------------------------

    def append(self, event: Event, at_ms: int) -> int:
        """Give an event its number. It is on disk soon; or, if the disk does not take it, told of as missing.

        0 if it was dropped in an outage so long that not even its number could be promised.
        """
        with self._wake:
            if self._stopped:
                raise JournalError("the journal has been closed")
            backlog = self._backlog
            was_empty = not backlog
            was_small = backlog.bytes < self._options.batch_bytes
            seq = backlog.add(event, at_ms, why_full=self._problem or "records came faster than the disk took them")
            if was_empty:
                self._waiting_since_s = time.monotonic()
            if was_empty or (was_small and backlog.bytes >= self._options.batch_bytes):
                self._wake.notify()
            return seq

    def durable(self, seq: int) -> "Future[None]":
        """Done when the record is on disk, which is tried at once; JournalDegraded if it cannot be put there now.

        In that case it may still get there later.
        """
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()  # from now on nobody can cancel it under the writer's hands
        with self._wake:
            if seq >= self._backlog.next_seq:
                raise JournalError(f"no record has the number {seq} yet")
            if not seq or self._backlog.is_dropped(seq):
                problem = self._problem or "too much is waiting for the disk"
                self._retry_at_s = 0.0  # somebody cares: the next one shall not fail if the disk is well again
                self._wake.notify()
            elif seq <= self._durable_seq:
                problem = None
            elif self._stopped or self._died:
                problem = self._problem or "the journal has been closed"
            else:
                self._waiters.append((seq, future))
                self._wake.notify()
                return future
        if problem is None:
            future.set_result(None)
        else:
            future.set_exception(JournalDegraded(f"record {seq} is not on disk: {problem}"))
        return future

    def passed_over(self, first: int, last: int, *, why: str, certain: bool) -> None:
        """Tell of numbers that are missing from before this start."""
        with self._wake:
            self._backlog.lost(first, last, why=why, at_ms=self._now_ms(), certain=certain)
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
                rolled_segments=self.upkeep.rolled,
                removed_segments=self.upkeep.removed,
                upkeep_problem=self.upkeep.problem,
            )

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()
        self.upkeep.start()

    def stop(self) -> bool:
        """Write what is there and end; whether all of it is on disk. What the disk does not take now is lost."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.ident is not None:
            self._thread.join()
        else:
            self._finish()
        self.upkeep.stop()
        return not self._backlog

    def _run(self) -> None:
        try:
            while self._wait():
                self.commit()
            self._finish()
        finally:  # if this thread dies of something unforeseen, nobody is left waiting, and health tells
            with self._wake:
                if not self._stopped:
                    self._died = True
                    self._problem = "the writer thread ended unexpectedly"
                waiters = self._take_waiters(None)
            _refuse(waiters, self._problem or "the journal has been closed")

    def _wait(self) -> bool:
        """Until there is something to do; False: stop."""
        with self._wake:
            while not self._stopping:
                now_s = time.monotonic()
                due_s = self._due_s(now_s)
                if due_s <= now_s:
                    break
                self._wake.wait(min(due_s - now_s, threading.TIMEOUT_MAX))
            return not self._stopping

    def _due_s(self, now_s: float) -> float:
        """When there is something to do."""
        if self._waiters:
            return now_s
        if self._problem is not None:
            return self._retry_at_s
        if self._backlog.bytes >= self._options.batch_bytes:
            return now_s
        due_s = now_s + self._log.due_s(now_s)
        if self._backlog or self._backlog.is_dropping:  # then numbers have to be promised, and the hole told of
            due_s = min(due_s, self._waiting_since_s + self._options.commit_ms / 1000)
        return due_s

    def _finish(self) -> None:
        while True:
            with self._wake:
                if not self._backlog and not self._backlog.is_dropping:
                    break
            if not self.commit():
                break
        self._log.roll()
        with self._wake:
            clean = self._problem is None and not self._backlog and not self._backlog.is_dropping
            self._stopped = True
            last = self._backlog.next_seq - 1
        if clean and last:
            self._mark_clean(last)

    # -- one round -----------------------------------------------------------------------------------------------

    def commit(self) -> bool:
        """Put what waits on disk, or as much as goes in one batch; False if the disk did not take it."""
        with self._wake:
            batch = self._backlog.front(self._options.batch_bytes)
            next_seq = self._backlog.next_seq
        now_s = time.monotonic()
        try:
            if self._prepare is not None:
                self._prepare()
                self._prepare = None
            self._reserve(next_seq)
            if batch:
                self._log.commit(batch, now_s=now_s)
            elif self._log.due_s(now_s) <= 0:
                self._log.roll()
        except OSError as problem:
            self._fail(problem, now_s)
            return False
        self._succeed(batch, now_s)
        return True

    def _reserve(self, next_seq: int) -> None:
        """Promise on disk that numbers which may be handed out until the next commit are not used again."""
        if next_seq + self._options.queue_records > self._reserved:
            reserved = next_seq + 2 * self._options.queue_records
            write_mark(self._files, Mark(reserved=reserved))
            self._reserved = reserved
            with self._wake:
                self._backlog.limit = max(self._backlog.limit, reserved)

    def _mark_clean(self, last: int) -> None:
        try:
            write_mark(self._files, Mark(reserved=last, clean=True))
        except OSError as problem:  # all is written; the next start passes over a few numbers
            with self._wake:
                self._problem = str(problem)

    def _succeed(self, batch: list[Pending], now_s: float) -> None:
        lost, self._log.lost = self._log.lost, []
        finished, self._log.finished = self._log.finished, []
        with self._wake:
            backlog = self._backlog
            backlog.done(len(batch))
            if batch:
                self._durable_seq = batch[-1].seq
                self._written_records += len(batch)
                self._written_bytes += sum(len(pending.line) for pending in batch)
                self._commits += 1
            for span in lost:
                why = "the segment was removed while it was written"
                backlog.lost(span.first, span.last, why=why, at_ms=self._now_ms())
            backlog.tell_hole(self._now_ms())
            self._problem = None
            self._retry_s = 0.0
            self._waiting_since_s = now_s
            waiters = self._take_waiters(self._durable_seq)
        for _, future in waiters:
            future.set_result(None)
        if finished:
            self.upkeep.finished({segment.name: segment.span for segment in finished})

    def _fail(self, problem: OSError, now_s: float) -> None:
        with self._wake:
            self._failures += 1
            self._problem = str(problem)
            self._retry_s = min(max(2 * self._retry_s, self._options.retry_first_s), self._options.retry_last_s)
            self._retry_at_s = now_s + self._retry_s
            waiters = self._take_waiters(None)
        _refuse(waiters, str(problem))
        self._reserved = 0  # whatever happened to the folder may have happened to the mark

    def _take_waiters(self, up_to: int | None) -> list[tuple[int, "Future[None]"]]:
        taken = [waiter for waiter in self._waiters if up_to is None or waiter[0] <= up_to]
        self._waiters = [waiter for waiter in self._waiters if up_to is not None and waiter[0] > up_to]
        return taken


def _refuse(waiters: list[tuple[int, "Future[None]"]], why: str) -> None:
    for seq, future in waiters:
        future.set_exception(JournalDegraded(f"record {seq} is not on disk: {why}"))
