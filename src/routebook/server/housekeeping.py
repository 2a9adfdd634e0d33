"""Housekeeping: periodic tasks (broker expiry, logged counters, changed TLS and identities files)."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from routebook.handlers import NameServer
from routebook.server.access.denials import FLUSH_INTERVAL_S
from routebook.server.net.effects import EffectRunner
from routebook.server.net.shared import Shared

if TYPE_CHECKING:
    from routebook.server.access.identities_file import IdentitiesFile

_FIRST_SCAN_S: Final = 5.0
_TLS_WATCH_S: Final = 0.5
_ACCESS_WATCH_S: Final = 0.5  # SECURITY.md: a revocation takes effect within a second


class Housekeeping:
    """Runs timers from `start` until `stop`, with Java's periods."""

    def __init__(self, shared: Shared, *, port: int, access: "IdentitiesFile | None" = None) -> None:
        self._shared = shared
        self._access = access
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._port = port
        self.after_scan: Callable[[], None] = lambda: None

    def start_nameserver(self, nameserver: NameServer, effects: EffectRunner) -> None:
        """Start the tasks of the NameServer port."""
        shared, event_log = self._shared, self._shared.recording.event_log

        def scan() -> None:
            effects.apply(nameserver.scan(shared.now_ms()))
            self.after_scan()

        def water_mark() -> None:
            if event_log.logs_water_marks:
                deferred = effects.deferred(asyncio.get_running_loop().time())
                event_log.water_mark(
                    asking=deferred.asking,
                    asking_ms=deferred.asking_ms,
                    others=deferred.saving,
                    others_ms=deferred.saving_ms,
                )

        scan_s = nameserver.settings.scan_not_active_broker_interval_ms / 1000
        self._every("scan of silent brokers", scan, first_s=_FIRST_SCAN_S, then_s=scan_s)
        self._every("KV print", lambda: event_log.kv_table(nameserver.kv.namespaces()), first_s=60.0, then_s=600.0)
        self._every("water mark", water_mark, first_s=10.0, then_s=1.0)

    def start(self) -> None:
        """Start the tasks of any port."""
        self._every("traffic counts", self._traffic, first_s=1.0, then_s=1.0)
        self._every("denials", self._shared.recording.denials.flush, first_s=FLUSH_INTERVAL_S, then_s=FLUSH_INTERVAL_S)
        if self._access is not None:
            self._every("identities file watch", self._watch_access, first_s=_ACCESS_WATCH_S, then_s=_ACCESS_WATCH_S)
        if self._shared.transport.tls.watches:
            self._every("TLS file watch", self._watch_tls, first_s=_TLS_WATCH_S, then_s=_TLS_WATCH_S)

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _every(self, name: str, work: Callable[[], None], *, first_s: float, then_s: float) -> None:
        loop = asyncio.get_running_loop()

        def run_once() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001  a failed run is logged; the next one is still scheduled
                self._shared.recording.event_log.task_failed(name, error)
            self._timers[name] = loop.call_later(then_s, run_once)

        self._timers[name] = loop.call_later(first_s, run_once)

    def _traffic(self) -> None:
        requests, responses = self._shared.traffic.counts.take()
        self._shared.recording.event_log.traffic(self._port, requests, responses)

    def _watch_access(self) -> None:
        message = None if self._access is None else self._access.reload()
        if message is not None:
            self._shared.recording.event_log.identities_file(message)

    def _watch_tls(self) -> None:
        message = self._shared.transport.tls.reload()
        if message is not None:
            self._shared.recording.event_log.tls_files(message, failed=self._shared.transport.tls.problem is not None)
