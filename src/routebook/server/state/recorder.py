"""Everything that happens goes through here: into the journal, into the log, and to whoever listens.

record ──► journal   numbered, on disk soon
       ──► event_log log lines
       ──► feed      /v1/events
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Final, Protocol

import msgspec

from routebook.events import Asked, Event
from routebook.journal.record import FORMAT_VERSION, Record
from routebook.journal.write.writer import Writer
from routebook.server.observe.event_log import EventLog

_PATIENCE_S: Final = 5.0  # a disk that hangs holds back no answer for longer


class Publisher(Protocol):
    """Takes every record at once and never waits; see `server/state/feed.py`."""

    def publish(self, record: Record) -> None: ...


class Recorder:
    """Without a journal it still numbers, logs and publishes events; nothing outlives the process."""

    def __init__(
        self, *, event_log: EventLog, ns: str, boot: str, journal: Writer | None = None, feed: Publisher | None = None
    ) -> None:
        self.event_log = event_log
        self.ns = ns
        self.boot = boot
        self.feed = feed
        self.journal = journal
        self.last_seq = 0 if journal is None else journal.status().last_seq
        self.unkept = 0  # admin writes that were acknowledged though the disk did not take their record

    def record(
        self,
        events: Iterable[Event],
        *,
        at_ms: int,
        peer: str | None = None,
        code: int | None = None,
        who: str | None = None,
    ) -> int:
        """Record what happened, and who asked for it by which request; the number of the last of them.

        `who` is the name that the peer has proven, where authentication is on.

        0 if the journal had to drop it in an outage so long that it has not even a number.
        """
        journal, feed, seq = self.journal, self.feed, 0
        for event in events:
            if isinstance(event, Asked) and (peer is not None or code is not None):
                event = msgspec.structs.replace(event, peer=peer, who=who, code=code)
            seq = self.last_seq + 1 if journal is None else journal.append(event, at_ms)
            self.last_seq = seq or self.last_seq
            self.event_log.log((event,), peer)
            if feed is not None:
                feed.publish(Record(FORMAT_VERSION, self.ns, self.boot, seq, at_ms, event))
        return seq

    def when_durable(self, seq: int, done: Callable[[bool], None]) -> None:
        """Call `done` when the record is on disk; or with False if the disk does not take it, or takes too long.

        A full disk stops the journal, not the NameServer: whoever waits is answered, and it is counted.
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

        timer = loop.call_later(_PATIENCE_S, finish, False)
        self.journal.durable(seq).add_done_callback(from_thread)

    async def durable(self, seq: int) -> bool:
        """The same, to be awaited."""
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.when_durable(seq, lambda is_kept: None if kept.done() else kept.set_result(is_kept))
        return await kept
