"""Mass-expiry protection: keeps routes when many brokers become silent at once, probably because of the network.

    watching ──► more leases expired, or are about to, within one window than the settings allow ──► protecting
       with peers: ──► asking ──► most peers that answer hear these brokers, or no peer answers ──► protecting
                              ──► most peers miss them, too: they expire ──► watching
    protecting ──► few of them are still silent, most peers miss them, too, the maximum duration is over, or it was
                   disabled ──► watching

Only silence counts: an expired lease or an idle connection. A broker that closes its connection or unregisters is
removed at once in any state. Recovered brokers have their own lease after a restart and do not count.

Too many are silent only if that holds for broker names, for hosts and for identities (`silence.py`), so that no single
one of them can cause it, with whatever number of members.
"""

from collections.abc import Collection
from typing import Final

import msgspec

from routebook.events import Event, PreservationEnd, PreservationEntered, PreservationLeft
from routebook.handlers.silence import Sender, is_mass_silence
from routebook.model import BrokerKey
from routebook.routes import RouteTable
from routebook.settings import ExpiryProtectionSettings

_MAX_ADDRS: Final = 20  # in the event
_ANSWER_MS: Final = 10_000  # for peers; without an answer this NameServer is probably cut off
_REPEAT_MS: Final = 30_000  # between two questions while protecting


class PeerAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """How many peers answered, and how many of them miss most of the brokers, too."""

    answered: int
    missing: int

    @property
    def miss_them(self) -> bool:
        return self.missing * 2 > self.answered


class ExpiryProtection:
    """`silent` holds the brokers that are kept although they expired, and the last heartbeat of each.

    `question` holds the brokers that peers are to be asked about; the caller asks and calls `on_answers`.
    """

    __slots__ = ("_asked_ms", "_entering", "_returned", "asks_peers", "question", "silent", "since_ms")

    def __init__(self) -> None:
        self.silent: dict[BrokerKey, int] = {}
        self.since_ms: int | None = None
        self.asks_peers = False
        self.question: frozenset[BrokerKey] | None = None
        self._asked_ms = 0
        self._entering: PreservationEntered | None = None  # while peers are asked before
        self._returned = 0

    def on_silent(
        self, routes: RouteTable, keys: Collection[BrokerKey], now_ms: int, settings: ExpiryProtectionSettings
    ) -> list[Event]:
        """These brokers expired, or their connection was idle: protect them if there are too many."""
        if not settings.enabled:
            return []
        if self.since_ms is not None or self._entering is not None:
            self._protect(routes, keys)
            return []
        overdue = routes.overdue(now_ms, window_ms=settings.window_ms)
        silent = overdue.keys | dict.fromkeys(keys)
        if not is_mass_silence(_senders(routes, overdue.known, silent), settings):
            return []
        self._protect(routes, keys)
        self._entering = PreservationEntered(
            silent=len(silent),
            known=len(overdue.known),
            window_ms=settings.window_ms,
            addrs=tuple(key.addr for key in list(silent)[:_MAX_ADDRS]),
        )
        if not self.asks_peers:
            return self._enter(now_ms)
        self._ask(frozenset(silent), now_ms)
        return []

    def review(self, routes: RouteTable, now_ms: int, settings: ExpiryProtectionSettings) -> list[Event]:
        """Drop brokers that returned or left since; end the protection if it is no longer needed."""
        if self._entering is not None and (not settings.enabled or self._is_over(routes, now_ms, settings)):
            self._forget()
            return []
        if self._entering is not None:
            return self._enter(now_ms) if now_ms - self._asked_ms >= _ANSWER_MS else []
        if self.since_ms is None:
            return []
        if not settings.enabled:
            return [self._leave(PreservationEnd.SWITCHED_OFF, now_ms)]
        if now_ms - self.since_ms >= settings.max_ms:
            return [self._leave(PreservationEnd.TIMED_OUT, now_ms)]
        if not self._is_over(routes, now_ms, settings):
            if self.asks_peers and now_ms - self._asked_ms >= _REPEAT_MS:
                self._ask(frozenset(self.silent), now_ms)
            return []
        for key in self.silent:  # the network works again: the remaining brokers get a full timeout to return
            routes.lease_table[key].last_update_ms = now_ms
        return [self._leave(PreservationEnd.RETURNED, now_ms)]

    def on_answers(self, answers: PeerAnswers, now_ms: int) -> list[Event]:
        """Peers answered: start or end the protection. Brokers without protection expire in the next scan."""
        self.question = None
        if self._entering is not None:
            if not answers.miss_them:
                return self._enter(now_ms)
            self._forget()
        elif self.since_ms is not None and answers.miss_them:
            return [self._leave(PreservationEnd.GONE, now_ms)]
        return []

    def _is_over(self, routes: RouteTable, now_ms: int, settings: ExpiryProtectionSettings) -> bool:
        for key, last_ms in list(self.silent.items()):
            lease = routes.lease_table.get(key)
            if lease is None:
                del self.silent[key]
            elif lease.last_update_ms != last_ms:
                del self.silent[key]
                self._returned += 1
        overdue = routes.overdue(now_ms, window_ms=settings.window_ms, also=self.silent)
        return not is_mass_silence(_senders(routes, overdue.known, overdue.keys), settings)

    def _ask(self, keys: frozenset[BrokerKey], now_ms: int) -> None:
        self.question, self._asked_ms = keys, now_ms

    def _enter(self, now_ms: int) -> list[Event]:
        entered, self._entering = self._entering, None
        self.since_ms = now_ms
        return [] if entered is None else [entered]

    def _protect(self, routes: RouteTable, keys: Collection[BrokerKey]) -> None:
        for key in keys:
            lease = routes.lease_table.get(key)
            if lease is not None:
                self.silent.setdefault(key, lease.last_update_ms)

    def _leave(self, reason: PreservationEnd, now_ms: int) -> PreservationLeft:
        lasted_ms = now_ms - (self.since_ms or 0)
        left = PreservationLeft(reason=reason, lasted_ms=lasted_ms, returned=self._returned, silent=len(self.silent))
        self._forget()
        return left

    def _forget(self) -> None:
        self.silent, self.since_ms, self._returned = {}, None, 0
        self.question = self._entering = None


def _senders(routes: RouteTable, known: Collection[BrokerKey], silent: Collection[BrokerKey]) -> list[Sender]:
    leases = routes.lease_table
    return [
        Sender(lease.memberships.keys(), lease.host, lease.identity, key in silent)
        for key in {**dict.fromkeys(known), **dict.fromkeys(silent)}
        if (lease := leases.get(key)) is not None
    ]
