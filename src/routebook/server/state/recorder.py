"""Records events: appends them to the journal, logs them and publishes them, in this order.

record ──► journal      numbered; on disk within a group commit
       ──► event log    log lines
       ──► feed         /v1/events and consoles
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Final

import msgspec

from routebook.event_base import RequestEvent
from routebook.events import Event
from routebook.journal.record import FORMAT_VERSION, Record
from routebook.journal.write.writer import Writer
from routebook.server.observe.event_log import EventLog

_DURABLE_TIMEOUT_S: Final = 5.0  # a disk that hangs delays an answer no longer than this


class Recorder:
    """Without a journal, events are still numbered, logged and published, but not stored."""

    def __init__(
        self,
        *,
        event_log: EventLog,
        ns: str,
        boot: str,
        journal: Writer | None = None,
        publish: Callable[[Record], None] | None = None,
    ) -> None:
        """`publish` must not block."""
        self._event_log = event_log
        self._publish = publish
        self.ns = ns
        self.boot = boot
        self.journal = journal
        self.last_seq = 0 if journal is None else journal.status().last_seq
        self.unkept = 0  # admin writes that were acknowledged although their record is not on disk

    def record(
        self,
        events: Iterable[Event],
        *,
        at_ms: int,
        peer: str | None = None,
        code: int | None = None,
        who: str | None = None,
    ) -> int:
        """Record events with the peer, identity and request code that caused them.

        Returns the sequence number of the last event; 0 if the journal dropped it because its backlog is full.
        """
        journal, publish, seq = self.journal, self._publish, 0
        for event in events:
            if isinstance(event, RequestEvent) and (peer is not None or code is not None):
                event = msgspec.structs.replace(event, peer=peer, who=who, code=code)
            seq = self.last_seq + 1 if journal is None else journal.append(event, at_ms)
            self.last_seq = seq or self.last_seq
            self._event_log.log((event,), peer)
            if publish is not None:
                publish(Record(FORMAT_VERSION, self.ns, self.boot, seq, at_ms, event))
        return seq

    def when_durable(self, seq: int, done: Callable[[bool], None]) -> None:
        """Call `done(True)` when the record is on disk, `done(False)` if the write fails or takes too long.

        A full disk stops the journal, not the NameServer: the request is answered, and `unkept` counts it.
        """
        loop = asyncio.get_running_loop()
        if self.journal is None:
            loop.call_soon(done, True)
            return
        waiting = True

        def finish(kept: bool) -> None:
            nonlocal waiting
            if waiting:
                waiting = False
                timer.cancel()
                self.unkept += not kept
                done(kept)

        def from_thread(future: "Future[None]") -> None:
            loop.call_soon_threadsafe(finish, future.exception() is None)

        timer = loop.call_later(_DURABLE_TIMEOUT_S, finish, False)
        self.journal.durable(seq).add_done_callback(from_thread)

    @property
    def problem(self) -> str:
        """Why records are not on disk."""
        status = None if self.journal is None else self.journal.status()
        return "the disk does not answer" if status is None or status.reason is None else status.reason

    async def durable(self, seq: int) -> bool:
        """Wait until the record is on disk; False if the write fails or takes too long."""
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.when_durable(seq, lambda is_kept: None if kept.done() else kept.set_result(is_kept))
        return await kept
