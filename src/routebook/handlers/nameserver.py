"""All state of one NameServer, and what happens to it without a request: lost connections and the scan."""

from routebook.events import DownReason
from routebook.handlers.outcome import Outcome
from routebook.handlers.route_cache import RouteCache
from routebook.kv import KvStore
from routebook.routes import RouteTable
from routebook.settings import Settings
from routebook.wire.bodies import encode_cluster_info


class NameServer:
    """Tables, KV, settings and encoded routes. Requests change it through `dispatch`, one at a time."""

    __slots__ = ("_cluster_info", "cache", "kv", "routes", "settings", "settings_revision", "started_ms")

    def __init__(self, settings: Settings, *, started_ms: int, kv: KvStore | None = None) -> None:
        self.settings = settings
        self.settings_revision = 0
        self.started_ms = started_ms
        self.kv = kv if kv is not None else KvStore()
        self.routes = RouteTable()
        self.cache = RouteCache(max_bytes=settings.route_cache_bytes)
        self._cluster_info = (-1, b"")

    def cluster_info(self) -> bytes:
        """All brokers, encoded once per change: each 5.x broker asks every five seconds."""
        if self._cluster_info[0] != self.routes.revision:
            self._cluster_info = (self.routes.revision, encode_cluster_info(self.routes.cluster_info()))
        return self._cluster_info[1]

    def connection_lost(self, connection: int, reason: DownReason) -> Outcome:
        """A connection is gone, and every broker that registered over it."""
        change = self.routes.connection_lost(connection, reason=reason, policy=self.settings.policy)
        return Outcome(None, change.events, change.effects)

    def scan(self, now_ms: int) -> Outcome:
        """Brokers that were silent for longer than their timeout are gone. Java: scanNotActiveBroker."""
        change = self.routes.expire(now_ms, policy=self.settings.policy)
        return Outcome(None, change.events, change.effects)
