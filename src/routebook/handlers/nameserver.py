"""All state of one NameServer, and its changes without a request: lost connections and the expiry scan."""

from collections import defaultdict
from collections.abc import Container, Iterable

from routebook.effects import Change
from routebook.events import BrokerDown, DownReason, Event
from routebook.handlers.expiry_protection import ExpiryProtection, PeerAnswers
from routebook.handlers.list_cache import ListCache
from routebook.handlers.meter import Meter
from routebook.handlers.outcome import Outcome
from routebook.handlers.registration_cache import RegistrationCache
from routebook.handlers.route_cache import RouteCache
from routebook.handlers.totals import Totals
from routebook.kv import KvStore
from routebook.model import BrokerKey
from routebook.routes import RouteTable
from routebook.settings import Settings


class NameServer:
    """Tables, KV, settings and caches. Requests change it through `dispatch`, one at a time."""

    __slots__ = (
        "cache",
        "exceeded",
        "expiry_protection",
        "kv",
        "lists",
        "meter",
        "registrations",
        "routes",
        "settings",
        "settings_revision",
        "started_ms",
        "totals",
    )

    def __init__(
        self, settings: Settings, *, started_ms: int, kv: KvStore | None = None, routes: RouteTable | None = None
    ) -> None:
        """`routes` is the recovered route table after a restart."""
        self.settings = settings
        self.settings_revision = 0
        self.started_ms = started_ms
        self.kv = kv if kv is not None else KvStore()
        self.routes = routes if routes is not None else RouteTable()
        self.meter = Meter(max_keys=settings.lookup_keys_per_minute)
        self.expiry_protection = ExpiryProtection()
        self.exceeded: defaultdict[str, int] = defaultdict(int)  # rejected requests by limit
        self.cache = RouteCache(max_bytes=settings.route_cache_bytes)
        self.registrations = RegistrationCache()
        self.lists = ListCache()
        self.totals = Totals()

    def revision(self) -> int:
        """Grows with each change of routes, KV or settings."""
        return self.routes.revision + self.kv.revision + self.settings_revision

    def connection_lost(self, connection: int, reason: DownReason, now_ms: int) -> Outcome:
        """Remove the brokers of a lost connection, unless it was idle and expiry protection keeps them."""
        events: list[Event] = []
        protected: Container[BrokerKey] = ()
        if reason is DownReason.IDLE and (keys := self.routes.brokers_of(connection)):
            events = self.expiry_protection.on_silent(self.routes, keys, now_ms, self.settings.expiry_protection)
            protected = self.expiry_protection.silent
        change = self.routes.connection_lost(
            connection, reason=reason, policy=self.settings.policy, protected=protected
        )
        return self._outcome(events, change)

    def scan(self, now_ms: int) -> Outcome:
        """Remove brokers whose lease expired. Java: scanNotActiveBroker."""
        routes, protection, settings = self.routes, self.expiry_protection, self.settings
        events = protection.review(routes, now_ms, settings.expiry_protection)
        if not events and (keys := routes.expired_leases(now_ms)):
            events = protection.on_silent(routes, keys, now_ms, settings.expiry_protection)
        return self._outcome(events, routes.expire(now_ms, policy=settings.policy, protected=protection.silent))

    def peers_answered(self, answers: PeerAnswers, now_ms: int) -> Outcome:
        """Peers answered whether they miss the brokers that are silent here; expired ones are removed if they do."""
        events = self.expiry_protection.on_answers(answers, now_ms)
        protected = self.expiry_protection.silent
        return self._outcome(events, self.routes.expire(now_ms, policy=self.settings.policy, protected=protected))

    def forget_departed(self, events: Iterable[Event]) -> None:
        """Drop what was remembered of brokers that left: their next request has no predecessor."""
        for event in events:
            if type(event) is BrokerDown:
                key = BrokerKey(event.cluster, event.addr)
                self.meter.forget(key)
                self.registrations.forget_request(key)
                if self.routes.group(event.broker) is None:
                    self.registrations.forget_table(event.broker)
                    self.totals.removed(event.broker)

    def _outcome(self, events: list[Event], change: Change) -> Outcome:
        self.forget_departed(change.events)
        return Outcome(None, (*events, *change.events), change.effects)
