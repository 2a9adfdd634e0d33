"""A NameServer in virtual time: the real core and a journal; the caller provides the time."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from routebook import __version__
from routebook.event_base import RequestEvent
from routebook.events import DownReason, Event, ServerStarted, ServerStopped
from routebook.fleet.virtual.journal import VirtualJournal
from routebook.handlers import Caller, NameServer, Outcome, dispatch
from routebook.routes import RouteTable
from routebook.routes.image import Image, capture
from routebook.settings import Settings
from routebook.wire.command import Command

_FIRST_SCAN_MS: Final = 5_000
_HOST: Final = "127.0.0.1"

EventCallback = Callable[["VirtualNameServer", tuple[Event, ...], int], None]


class VirtualNameServer:
    """`core` is None while it is down. Events are written to the journal and then passed to `on_events`."""

    def __init__(self, number: int, folder: Path, *, on_events: EventCallback) -> None:
        self.number = number
        self.name = f"ns-{number + 1}"
        self.address = f"{_HOST}:{9876 + number}"
        self.journal = VirtualJournal(folder / self.name, ns=self.name)
        self.settings = Settings.build([], home=str(folder), file=None)
        self.core: NameServer | None = None
        self.started_ms = 0
        self.changes = 0  # grows with every event; invalidates cached answers
        self._on_events = on_events
        self._saved: Image | None = None
        self._connections = 0

    @property
    def scan_ms(self) -> int:
        return self.settings.scan_not_active_broker_interval_ms

    @property
    def idle_ms(self) -> int:
        return int(self.settings.server_channel_max_idle_s * 1000)

    @property
    def recovered_lease_ms(self) -> int:
        return self.settings.recovered_lease_s * 1000

    def start(self, now_ms: int, *, boot: str) -> None:
        """Start warm, with the routes at the last stop."""
        routes = RouteTable()
        recovered = 0
        if self._saved is not None:
            routes.restore(self._saved)
            recovered = routes.begin_leases(now_ms, max_ms=self.recovered_lease_ms)
        self.core = NameServer(self.settings, started_ms=now_ms, routes=routes)
        self.started_ms = now_ms
        self.journal.boot(boot)
        self.record([ServerStarted(version=__version__, listen=self.address, recovered=recovered)], now_ms)

    def stop(self, now_ms: int) -> None:
        """Stop cleanly. Closing connections produces no broker events, as in a real server."""
        self._saved = capture(self.running.routes)
        self.record([ServerStopped(reason="SIGTERM")], now_ms)
        self.core = None

    @property
    def running(self) -> NameServer:
        """The core; the NameServer must be up."""
        if self.core is None:
            raise AssertionError(f"{self.name} is down")
        return self.core

    def connect(self) -> int:
        """Return the id of a new connection."""
        self._connections += 1
        return self._connections

    def request(self, command: Command, caller: Caller, now_ms: int) -> Outcome:
        """Dispatch one request without the wire format."""
        outcome = dispatch(self.running, command, caller, now_ms)
        self.record(outcome.events, now_ms, peer=caller.address, code=int(command.code))
        return outcome

    def connection_lost(self, connection: int, reason: DownReason, now_ms: int) -> None:
        """Process the end of a connection."""
        self.record(self.running.connection_lost(connection, reason, now_ms).events, now_ms)

    def scan(self, now_ms: int) -> Outcome:
        """Expire silent brokers; the caller closes the returned connections."""
        outcome = self.running.scan(now_ms)
        self.record(outcome.events, now_ms)
        return outcome

    def next_scan_ms(self, now_ms: int) -> int:
        """Return the time of the next scan: every five seconds, from five seconds after the start."""
        first = self.started_ms + _FIRST_SCAN_MS
        return max(first, first + -(-(now_ms + 1 - first) // self.scan_ms) * self.scan_ms)

    def record(self, events: Iterable[Event], now_ms: int, *, peer: str | None = None, code: int | None = None) -> None:
        """Write events to the journal and pass them on."""
        recorded = tuple(
            msgspec.structs.replace(event, peer=peer, code=code)
            if code is not None and isinstance(event, RequestEvent)
            else event
            for event in events
        )
        if recorded:
            self.changes += 1
            self.journal.append(recorded, now_ms)
            self._on_events(self, recorded, now_ms)
