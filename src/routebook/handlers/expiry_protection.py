"""Mass-expiry protection: keeps routes when so many brokers become silent at once that the network is to blame.

    watching ──► more leases expired, or are about to, within one window than the settings allow ──► protecting
    protecting ──► few of them are still silent, the maximum duration is over, or it was disabled ──► watching

Only silence counts: an expired lease or an idle connection. A broker that closes its connection or unregisters is
removed at once in either state. Recovered brokers have their own lease after a restart and do not count.
"""

from collections.abc import Collection
from typing import Final

from routebook.events import Event, PreservationEnd, PreservationEntered, PreservationLeft
from routebook.model import BrokerKey
from routebook.routes import RouteTable
from routebook.settings import ExpiryProtectionSettings

_MAX_ADDRS: Final = 20  # in the event


class ExpiryProtection:
    """`silent` holds the brokers that are kept although they expired, and the last heartbeat of each."""

    __slots__ = ("_returned", "silent", "since_ms")

    def __init__(self) -> None:
        self.silent: dict[BrokerKey, int] = {}
        self.since_ms: int | None = None
        self._returned = 0

    def on_silent(
        self, routes: RouteTable, keys: Collection[BrokerKey], now_ms: int, settings: ExpiryProtectionSettings
    ) -> list[Event]:
        """These brokers expired, or their connection was idle: protect them if there are too many."""
        if not settings.enabled:
            return []
        if self.since_ms is not None:
            self._protect(routes, keys)
            return []
        known, overdue = routes.overdue(now_ms, window_ms=settings.window_ms)
        overdue |= dict.fromkeys(keys)
        if not _too_many(len(overdue), known, settings):
            return []
        self.since_ms = now_ms
        self._protect(routes, keys)
        return [
            PreservationEntered(
                silent=len(overdue),
                known=known,
                window_ms=settings.window_ms,
                addrs=tuple(key.addr for key in list(overdue)[:_MAX_ADDRS]),
            )
        ]

    def review(self, routes: RouteTable, now_ms: int, settings: ExpiryProtectionSettings) -> list[Event]:
        """Drop brokers that returned or left since; end the protection if it is no longer needed."""
        if self.since_ms is None:
            return []
        for key, last_ms in list(self.silent.items()):
            lease = routes.lease_table.get(key)
            if lease is None:
                del self.silent[key]
            elif lease.last_update_ms != last_ms:
                del self.silent[key]
                self._returned += 1
        if not settings.enabled:
            return [self._leave(PreservationEnd.SWITCHED_OFF, now_ms)]
        if now_ms - self.since_ms >= settings.max_ms:
            return [self._leave(PreservationEnd.TIMED_OUT, now_ms)]
        known, overdue = routes.overdue(now_ms, window_ms=settings.window_ms, also=self.silent)
        if _too_many(len(overdue), known, settings):
            return []
        for key in self.silent:  # the network works again: the remaining brokers get a full timeout to return
            routes.lease_table[key].last_update_ms = now_ms
        return [self._leave(PreservationEnd.RETURNED, now_ms)]

    def _protect(self, routes: RouteTable, keys: Collection[BrokerKey]) -> None:
        for key in keys:
            lease = routes.lease_table.get(key)
            if lease is not None:
                self.silent.setdefault(key, lease.last_update_ms)

    def _leave(self, reason: PreservationEnd, now_ms: int) -> PreservationLeft:
        lasted_ms = now_ms - (self.since_ms or 0)
        left = PreservationLeft(reason=reason, lasted_ms=lasted_ms, returned=self._returned, silent=len(self.silent))
        self.silent, self.since_ms, self._returned = {}, None, 0
        return left


def _too_many(silent: int, known: int, settings: ExpiryProtectionSettings) -> bool:
    return silent >= settings.minimum and silent * 100 > known * settings.share
