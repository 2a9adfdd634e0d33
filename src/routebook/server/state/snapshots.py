"""Takes a snapshot of the tables from time to time and at the end, in steps too short for anybody to notice."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from routebook.routes import RouteTable
from routebook.routes.image import Capture, Captured
from routebook.server.observe.event_log import EventLog
from routebook.server.state.recorder import Recorder
from routebook.server.state.snapshot_file import Snapshot, write

_QUEUES_A_STEP: Final = 20_000  # a few milliseconds
_FIRST_S: Final = 20.0  # a start without snapshot, or after a crash, has one soon
_LOOK_S: Final = 1.0
_TAIL_BYTES: Final = 8 << 20  # of the journal, that a start reads in well under a second


class Snapshots:
    """`start` begins, `await stop()` takes the last one. `problem` says why the newest is not newer."""

    def __init__(
        self,
        folder: Path,
        *,
        routes: RouteTable,
        recorder: Recorder,
        event_log: EventLog,
        wall_ms: Callable[[], int],
        every_s: float,
    ) -> None:
        self._folder = folder
        self._routes = routes
        self._recorder = recorder
        self._event_log = event_log
        self._wall_ms = wall_ms
        self._every_s = every_s
        self._task: asyncio.Task[None] | None = None
        self.seq = 0  # of the newest
        self.at_ms = 0
        self.bytes = 0
        self.taken = 0
        self.problem: str | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._keep(), name="snapshots")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self.take()

    async def take(self) -> None:
        """Put the tables of one moment on disk, once the journal holds all that led to them, or cannot."""
        capture = Capture(self._routes)
        while (captured := capture.step(most=_QUEUES_A_STEP)) is None:  # noqa: ASYNC110  the turn of the others
            await asyncio.sleep(0)
        seq, at_ms = self._recorder.last_seq, self._wall_ms()  # of the very moment
        await self._recorder.durable(seq)
        try:
            self.bytes = await asyncio.to_thread(self._write, captured, seq, at_ms)
        except OSError as problem:
            said, self.problem = self.problem, f"{self._folder}: {problem.strerror or problem}"
            if said != self.problem:
                self._event_log.save_failed(f"snapshot in {self.problem}")
            return
        self.seq, self.at_ms, self.problem = seq, at_ms, None
        self.taken += 1

    def _write(self, captured: Captured, seq: int, at_ms: int) -> int:
        image = captured.image()
        recorder = self._recorder
        return write(self._folder, Snapshot(ns=recorder.ns, boot=recorder.boot, seq=seq, at=at_ms, tables=image))

    async def _keep(self) -> None:
        """A snapshot when it is time; sooner when a start would have much to read, or has no other way to know."""
        loop = asyncio.get_running_loop()
        due_s, seen = loop.time() + min(_FIRST_S, self._every_s), self._seen()
        while True:
            await asyncio.sleep(min(_LOOK_S, self._every_s))
            now = self._seen()
            grown = now.written - seen.written >= _TAIL_BYTES
            if loop.time() < due_s and not grown and now.dropped == seen.dropped:
                continue
            if self._recorder.last_seq != self.seq:
                try:
                    await self.take()
                except Exception as error:  # noqa: BLE001  around one round: the next may do better
                    self._event_log.task_failed("snapshot", error)
            due_s, seen = loop.time() + self._every_s, now

    def _seen(self) -> "_Seen":
        journal = self._recorder.journal
        if journal is None:
            return _Seen(0, 0)
        status = journal.status()
        # while the disk takes nothing it will not take a snapshot either; but then soon
        return _Seen(status.written_bytes, -1 if status.state == "degraded" else status.dropped_records)


class _Seen(NamedTuple):
    """How much the journal has written, and how many records it will never have."""

    written: int
    dropped: int
