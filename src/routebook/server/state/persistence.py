"""This server's past, from its start to its end: what it remembers, its journal, its snapshots, its history.

Persistence(home)   what is remembered: before anything else
open              the recorder: everything that happens goes through it
begin             the journal is written; the first record says how it began
start, settle_in  snapshots; then, once it listens, history
close             the last record, the last snapshot, and all threads end
"""

import asyncio
from pathlib import Path

from routebook import __version__
from routebook.events import ServerStarted, ServerStopped
from routebook.handlers import NameServer
from routebook.journal.files import FolderFiles
from routebook.server.clock import Clock
from routebook.server.health_checks import add_probes
from routebook.server.observe.event_log import EventLog
from routebook.server.observe.health import Health
from routebook.server.state.feed import Feed
from routebook.server.state.history_index import HistoryIndex
from routebook.server.state.home import Home
from routebook.server.state.lake_status import lake_probe
from routebook.server.state.recorder import Recorder
from routebook.server.state.snapshots import Snapshots
from routebook.server.state.warm_start import RecoveredState, warm_start
from routebook.settings import Settings


class Persistence:
    """Without a home, or with the journal switched off, it only numbers, logs and publishes events."""

    recorder: Recorder
    feed: Feed

    def __init__(self, home: Home | None, settings: Settings, *, clock: Clock, cold: bool) -> None:
        """Read what is remembered; `cold` begins with empty tables whatever that is. Raises HomeError."""
        self.ns = "" if home is None else home.ns
        self.memory: RecoveredState | None = None
        self.snapshots: Snapshots | None = None
        self.history: HistoryIndex | None = None
        self.files: FolderFiles | None = None
        self.home = None if home is None else home.path
        self._home = Path() if home is None else home.path
        self._clock = clock
        self._snapshot_s = settings.journal.snapshot_s
        if home is not None and settings.journal.enabled:
            now_ms, wall_ms = clock.now_ms(), clock.wall_ms
            self.files = FolderFiles(home.path / "journal")
            self.memory = warm_start(
                home.path, ns=home.ns, settings=settings, now_ms=now_ms, wall_ms=wall_ms, cold=cold
            )

    def open(self, event_log: EventLog) -> Recorder:
        memory = self.memory
        self._event_log = event_log
        self.recorder = Recorder(
            event_log=event_log,
            ns=self.ns,
            boot="" if memory is None else memory.boot,
            journal=None if memory is None else memory.journal,
        )
        self.recorder.feed = self.feed = Feed(last_seq=self.recorder.last_seq)
        return self.recorder

    def begin(self, nameserver: NameServer, health: Health, *, listen: str) -> None:
        """From here on everything is recorded; first of all, how it began."""
        memory, recorder, wall_ms = self.memory, self.recorder, self._clock.wall_ms
        if memory is None:
            recorder.record([ServerStarted(version=__version__, listen=listen)], at_ms=wall_ms())
            return
        memory.journal.start()
        for wrong in memory.wrong:
            self._event_log.recovery_problem(wrong)
        started = ServerStarted(version=__version__, listen=listen, recovered=memory.recovered, cold=memory.cold)
        recorder.record([started, *memory.mended], at_ms=wall_ms())
        self.snapshots = Snapshots(
            self._home / "snapshot",
            routes=nameserver.routes,
            recorder=recorder,
            event_log=self._event_log,
            wall_ms=wall_ms,
            every_s=self._snapshot_s,
        )
        add_probes(health, memory=memory, recorder=recorder, snapshots=self.snapshots, ns=nameserver)
        if self.files is not None:
            self.history = HistoryIndex(self._home, self.files, wall_ms=wall_ms, told=self._event_log.recovery_problem)
            health.add("history", self.history.part)
            health.add("lake", lake_probe(self._home / "lake"))

    def start(self) -> None:
        if self.snapshots is not None:
            self.snapshots.start()

    async def settle_in(self) -> None:
        """What can wait until the server listens."""
        if self.history is not None:
            try:
                await asyncio.to_thread(self.history.start)
            except (RuntimeError, MemoryError, ImportError, OSError) as problem:  # RuntimeError: no thread can be had
                self.history.did_not_start(problem)

    def abandon(self) -> None:
        """It did not come to a start: leave the journal as it was found."""
        if self.memory is not None:
            self.memory.journal.stop()

    async def close(self, reason: str) -> None:
        self.recorder.record([ServerStopped(reason=reason)], at_ms=self._clock.wall_ms())
        if self.snapshots is not None:
            await self.snapshots.stop()
        if self.memory is not None and not await asyncio.to_thread(self.memory.journal.stop):
            self._event_log.save_failed("the end of the journal: the disk does not take it")
        if self.history is not None:
            await asyncio.to_thread(self.history.stop)
