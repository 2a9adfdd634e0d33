"""Shares the event loop: what does not fit into one turn of a connection waits here and runs in slices.

    turns    connections with requests left when their turn was over, or whose host overspent
    jobs     long registrations, in steps, one after the other
    readers  connections in the middle of a long frame, when all together have read enough in this turn of the loop

Hosts take turns in each queue. One slice per turn of the loop: requests that arrive meanwhile are answered first.
"""

import asyncio
from collections.abc import Callable
from time import perf_counter_ns
from typing import Final, Protocol

from routebook.server.net.fair_queue import FairQueue

SLICE_NS: Final = 2_000_000  # of the turns, and again of the jobs
MAX_READ_BYTES: Final = 1 << 20  # of long frames, in one turn of the loop
MAX_JOB_BYTES: Final = 32 << 20  # while more is queued, long frames are not read
_MAX_RESUMED: Final = 8  # readers in one turn of the loop


class Job(Protocol):
    """Work in steps. `size` is the memory that it holds while it waits."""

    @property
    def size(self) -> int: ...

    def run(self, deadline_ns: int) -> bool:
        """Run steps until the deadline (by `perf_counter_ns`); return whether the work is done."""


class Turns:
    """The waiting work of one port."""

    def __init__(self) -> None:
        self._turns = FairQueue[Callable[[], None]]()
        self._jobs = FairQueue[Job]()
        self._readers = FairQueue[Callable[[], None]]()
        self._current: Job | None = None
        self._read_bytes = 0
        self._is_scheduled = False
        self.job_bytes = 0

    @property
    def waiting(self) -> int:
        """The number of connections and jobs that wait."""
        return len(self._turns) + len(self._jobs) + len(self._readers) + (self._current is not None)

    def add_turn(self, host: str, run: Callable[[], None]) -> None:
        """Call `run`, which takes a turn of about SLICE_NS at the most, when it is this host's turn."""
        self._turns.add(host, run)
        self._schedule()

    def add_job(self, host: str, job: Job) -> None:
        self._jobs.add(host, job)
        self.job_bytes += job.size
        self._schedule()

    def has_read(self, size: int) -> bool:
        """Count bytes of a long frame; return whether its connection has to wait with reading (`add_reader`)."""
        self._read_bytes += size
        self._schedule()
        return self._read_bytes > MAX_READ_BYTES or self.job_bytes > MAX_JOB_BYTES

    def add_reader(self, host: str, resume: Callable[[], None]) -> None:
        """Call `resume` when this connection may read again."""
        self._readers.add(host, resume)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self._is_scheduled = False
        self._read_bytes = 0
        try:
            self._run_turns()
            self._run_jobs()
            self._resume_readers()
        finally:
            if self.waiting:
                self._schedule()

    def _run_turns(self) -> None:
        turns, deadline_ns = self._turns, perf_counter_ns() + SLICE_NS
        for _ in range(len(turns)):  # what is added meanwhile has its turn in the next slice
            turns.pop()()
            if perf_counter_ns() >= deadline_ns:
                break

    def _run_jobs(self) -> None:
        deadline_ns = perf_counter_ns() + SLICE_NS
        while self._current is not None or len(self._jobs):
            job = self._current or self._jobs.pop()
            self._current = None  # a job that raises is dropped
            size = job.size
            is_done = True
            try:
                is_done = job.run(deadline_ns)
            finally:
                if is_done:
                    self.job_bytes -= size
            if not is_done:
                self._current = job
                return
            if perf_counter_ns() >= deadline_ns:
                return

    def _resume_readers(self) -> None:
        for _ in range(min(_MAX_RESUMED, len(self._readers))):
            if self.job_bytes > MAX_JOB_BYTES:
                break
            self._readers.pop()()
