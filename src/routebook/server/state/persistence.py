"""Persistence: warm start, journal, event feed, snapshots and history of one server.

Persistence.open   opens the journal, loads the newest snapshot and replays the journal's tail
start              starts the journal's thread and the snapshots; the first record is `server_started`
start_history      starts the history index, once the server listens
stop               writes the last record and the last snapshot, and ends all threads
"""

import asyncio
from typing import Self

from routebook import __version__
from routebook.archive.store import ArchiveStore
from routebook.events import ServerStarted, ServerStopped
from routebook.handlers import NameServer
from routebook.journal.files import FolderFiles
from routebook.journal.write.writer import JournalStatus
from routebook.server.clock import Clock
from routebook.server.observe.event_log import EventLog
from routebook.server.observe.health import Condition, Fact, Health, Part
from routebook.server.state.archive import ServerArchive, open_store, restore_journal
from routebook.server.state.feed import Feed
from routebook.server.state.history_index import HistoryIndex
from routebook.server.state.home import Home
from routebook.server.state.lake_status import lake_probe
from routebook.server.state.recorder import Recorder
from routebook.server.state.snapshots import SnapshotWriter
from routebook.server.state.warm_start import RecoveredState, warm_start
from routebook.settings import Settings


class Persistence:
    """Without a home, or with the journal switched off, events are numbered, logged and published, but not stored."""

    def __init__(
        self,
        home: Home | None,
        state: RecoveredState | None,
        *,
        clock: Clock,
        event_log: EventLog,
        snapshot_interval_s: float,
        store: ArchiveStore | None = None,
    ) -> None:
        self.home = None if home is None else home.path
        self.ns = "" if home is None else home.ns
        self.state = state
        self.feed = Feed(last_seq=0 if state is None else state.journal.status().last_seq)
        self.recorder = Recorder(
            event_log=event_log,
            ns=self.ns,
            boot="" if state is None else state.boot,
            journal=None if state is None else state.journal,
            publish=self.feed.publish,
        )
        self.files = None if home is None or state is None else FolderFiles(home.path / "journal")
        self.snapshots: SnapshotWriter | None = None
        self.history: HistoryIndex | None = None
        self.archive: ServerArchive | None = None
        self._store = store
        self._clock = clock
        self._event_log = event_log
        self._snapshot_interval_s = snapshot_interval_s

    @classmethod
    def open(cls, home: Home | None, settings: Settings, *, clock: Clock, event_log: EventLog, cold: bool) -> Self:
        """Recover what is stored in `home`; `cold` starts with empty tables. Raises HomeError."""
        state = store = None
        if home is not None and settings.journal.enabled:
            store = open_store(settings.journal.archive_url)
            restored = None if store is None else restore_journal(store, home)
            if restored is not None:
                event_log.journal_restored(restored.segments, restored.bytes)
            state = warm_start(
                home.path, ns=home.ns, settings=settings, now_ms=clock.now_ms(), wall_ms=clock.wall_ms, cold=cold
            )
        interval_s = settings.journal.snapshot_s
        return cls(home, state, clock=clock, event_log=event_log, snapshot_interval_s=interval_s, store=store)

    def start(self, nameserver: NameServer, health: Health, *, listen: str) -> None:
        """Record the start, and everything from here on."""
        state, home, wall_ms = self.state, self.home, self._clock.wall_ms
        if state is None or home is None or self.files is None:
            self.recorder.record([ServerStarted(version=__version__, listen=listen)], at_ms=wall_ms())
            return
        state.journal.start()
        for problem in state.problems:
            self._event_log.recovery_problem(problem)
        started = ServerStarted(version=__version__, listen=listen, recovered=state.recovered, cold=state.cold)
        self.recorder.record([started, *state.repairs], at_ms=wall_ms())
        self.snapshots = SnapshotWriter(
            home / "snapshot",
            routes=nameserver.routes,
            recorder=self.recorder,
            event_log=self._event_log,
            wall_ms=wall_ms,
            interval_s=self._snapshot_interval_s,
        )
        self.history = HistoryIndex(home, self.files, wall_ms=wall_ms, log=self._event_log.recovery_problem)
        health.add("journal", lambda: journal_health(state.journal.status(), unkept=self.recorder.unkept))
        health.add("snapshot", self.snapshots.health)
        health.add("recovery", lambda: _recovery_health(state, nameserver))
        health.add("history", self.history.health)
        health.add("lake", lake_probe(home / "lake"))
        if self._store is not None:
            archive = self.archive = ServerArchive(
                self._store, home / "journal", ns=self.ns, wall_ms=wall_ms, log=self._event_log.archive_problem
            )
            state.journal.roller.is_archived = archive.uploader.is_archived
            state.journal.roller.on_rolled = archive.uploader.wake
            health.add("archive", archive.health)
            archive.uploader.start()
        self.snapshots.start()

    async def start_history(self) -> None:
        """Start the history index. Without memory or a thread for it the server still serves routes."""
        if self.history is not None:
            try:
                await asyncio.to_thread(self.history.start)
            except (RuntimeError, MemoryError, ImportError, OSError) as problem:  # RuntimeError: no thread available
                self.history.start_failed(problem)

    def abandon(self) -> None:
        """Close the journal after a failed start; it stays as it was found."""
        if self.state is not None:
            self.state.journal.stop()

    async def stop(self, reason: str) -> None:
        self.recorder.record([ServerStopped(reason=reason)], at_ms=self._clock.wall_ms())
        if self.snapshots is not None:
            await self.snapshots.stop()
        if self.state is not None:
            journal, roll = self.state.journal, self.archive is not None
            if not await asyncio.to_thread(lambda: journal.stop(roll=roll)):
                self._event_log.save_failed("the last records of the journal: the disk rejects them")
        if self.archive is not None and not await asyncio.to_thread(self.archive.stop):
            self._event_log.archive_problem("not all segments are archived; the next start continues")
        if self.history is not None:
            await asyncio.to_thread(self.history.stop)


def journal_health(status: JournalStatus, *, unkept: int = 0) -> Part:
    """The health component `journal`: a disk that rejects writes degrades the server."""
    facts: dict[str, Fact] = {
        "state": status.state,
        "last_seq": status.last_seq,
        "durable_seq": status.durable_seq,
        "unkept_admin_writes": unkept,
        "damaged_segments": len(status.damaged_segments),
    }
    if status.state == "degraded":
        says = f"the journal is not being written: {status.reason}; {status.dropped_records} records dropped so far"
        return Part(Condition.DEGRADED, says, facts)
    if status.rolling_problem is not None:
        return Part(Condition.DEGRADED, f"old segments are not rolled or removed: {status.rolling_problem}", facts)
    if status.damaged_segments:
        says = (
            f"{len(status.damaged_segments)} segments are damaged on disk: {'; '.join(status.damaged_segments[:3])}; "
            "restore them from a backup, and check the disk"
        )
        return Part(Condition.DEGRADED, says, facts)
    return Part(facts=facts)


def _recovery_health(state: RecoveredState, nameserver: NameServer) -> Part:
    """The health component `recovery`, always OK: how many recovered brokers have not registered again."""
    leases = nameserver.routes.lease_table.values()
    awaited = sum(any(seat.connection is None for seat in lease.memberships.values()) for lease in leases)
    facts: dict[str, Fact] = {
        "cold": state.cold,
        "recovered": state.recovered,
        "awaited": awaited,
        "replayed": state.replayed,
        "wrong": len(state.problems),
    }
    return Part(says=f"{awaited} recovered brokers have not registered again" if awaited else "", facts=facts)
