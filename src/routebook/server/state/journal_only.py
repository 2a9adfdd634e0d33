"""The journal of a process without routes: a Controller on its own. History and lake read it like a NameServer's."""

import asyncio
import secrets
from collections.abc import Callable
from typing import Self

from routebook import __version__
from routebook.errors import HomeError, JournalError
from routebook.events import ServerStarted, ServerStopped
from routebook.journal.files import FolderFiles
from routebook.journal.read.describe import describe_damage
from routebook.journal.write.open import Opened, open_journal
from routebook.server.observe.event_log import EventLog
from routebook.server.state.home import Home
from routebook.server.state.recorder import Recorder
from routebook.server.state.warm_start import journal_options
from routebook.settings import Settings


class JournalOnly:
    """With the journal switched off, events are numbered and logged, but not stored."""

    def __init__(self, recorder: Recorder, opened: Opened | None, event_log: EventLog, wall_ms: Callable[[], int]):
        self.recorder = recorder
        self._opened = opened
        self._event_log = event_log
        self._wall_ms = wall_ms

    @classmethod
    def open(cls, home: Home, settings: Settings, *, event_log: EventLog, wall_ms: Callable[[], int]) -> Self:
        """Raises HomeError."""
        boot, opened = secrets.token_hex(6), None
        if settings.journal.enabled:
            folder = home.path / "journal"
            try:
                opened = open_journal(
                    FolderFiles(folder), ns=home.ns, boot=boot, options=journal_options(settings), now_ms=wall_ms
                )
            except JournalError as problem:
                raise HomeError(
                    f"cannot use the journal in {folder}: {problem}. routebook.journal.enabled=false starts without it"
                ) from None
        journal = None if opened is None else opened.writer
        return cls(Recorder(event_log=event_log, ns=home.ns, boot=boot, journal=journal), opened, event_log, wall_ms)

    def start(self, listen: str) -> None:
        """Record the start, and everything from here on."""
        if self._opened is not None:
            self._opened.writer.start()
            for damage in self._opened.damage:
                self._event_log.recovery_problem(f"journal: {describe_damage(damage)}")
        self.recorder.record([ServerStarted(version=__version__, listen=listen)], at_ms=self._wall_ms())

    async def stop(self, reason: str) -> None:
        self.recorder.record([ServerStopped(reason=reason)], at_ms=self._wall_ms())
        if self._opened is not None and not await asyncio.to_thread(self._opened.writer.stop):
            self._event_log.save_failed("the last records of the journal: the disk rejects them")
