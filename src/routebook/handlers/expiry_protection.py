"""When most brokers fall silent at once, it is this NameServer's own network that is suspected, and routes are kept.

    watching ──► so many ran out, or are about to, within one window ──► preserving
    preserving ──► few of them are still silent, it lasted too long, or it was switched off ──► watching

Only silence counts: a lease that ran out, a connection that was idle. Who closes its connection or unregisters is
gone at once, in either state. Brokers known from before a restart have their own lease, and do not count.
"""

from collections.abc import Collection
from typing import Final

from routebook.events import Event, PreservationEnd, PreservationEntered, PreservationLeft
from routebook.model import BrokerKey
from routebook.routes import RouteTable
from routebook.settings import PreservationSettings

_NAMED: Final = 20  # addresses that the event tells


class Preservation:
    """`silent` are the brokers that are kept though they ran out, and the last sign of life of each."""

    __slots__ = ("_returned", "silent", "since_ms")

    def __init__(self) -> None:
        self.silent: dict[BrokerKey, int] = {}
        self.since_ms: int | None = None
        self._returned = 0

    def ran_out(
        self, routes: RouteTable, keys: Collection[BrokerKey], now_ms: int, settings: PreservationSettings
    ) -> list[Event]:
        """These ran out of heartbeat, or their connection was idle: take them into custody if they are too many."""
        if not settings.enabled:
            return []
        if self.since_ms is not None:
            self._keep(routes, keys)
            return []
        known, overdue = routes.overdue(now_ms, window_ms=settings.window_ms)
        overdue |= dict.fromkeys(keys)
        if not _too_many(len(overdue), known, settings):
            return []
        self.since_ms = now_ms
        self._keep(routes, keys)
        return [
            PreservationEntered(
                silent=len(overdue),
                known=known,
                window_ms=settings.window_ms,
                addrs=tuple(key.addr for key in list(overdue)[:_NAMED]),
            )
        ]

    def review(self, routes: RouteTable, now_ms: int, settings: PreservationSettings) -> list[Event]:
        """Who has returned or left since; and whether it is over."""
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
        for key in self.silent:  # the network is back: the rest have time to come, too
            routes.lease_table[key].last_update_ms = now_ms
        return [self._leave(PreservationEnd.RETURNED, now_ms)]

    def _keep(self, routes: RouteTable, keys: Collection[BrokerKey]) -> None:
        for key in keys:
            lease = routes.lease_table.get(key)
            if lease is not None:
                self.silent.setdefault(key, lease.last_update_ms)

    def _leave(self, reason: PreservationEnd, now_ms: int) -> PreservationLeft:
        lasted_ms = now_ms - (self.since_ms or 0)
        left = PreservationLeft(reason=reason, lasted_ms=lasted_ms, returned=self._returned, silent=len(self.silent))
        self.silent, self.since_ms, self._returned = {}, None, 0
        return left


def _too_many(silent: int, known: int, settings: PreservationSettings) -> bool:
    return silent >= settings.minimum and silent * 100 > known * settings.share
