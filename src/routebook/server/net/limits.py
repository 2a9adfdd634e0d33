"""Limits on connections and requests, per address and in total."""

from collections.abc import Callable, Iterable
from typing import Final

from routebook.server.observe.health import Condition, Fact, Part
from routebook.settings import LimitSettings

NAMES: Final = (
    "connections",
    "connections_per_address",
    "requests_per_second",
    "busy",
    "frame_bytes",
    "frame_seconds",
    "first_request_seconds",
    "unread_bytes",
    "buffer_bytes",
    "inflated_bytes",
    "topics_per_registration",
    "name_length",
    "brokers",
    "topics",
    "queues",
    "mappings",
    "kv_bytes",
    "brokers_per_identity",
    "queues_per_identity",
    "mappings_per_identity",
    "kv_bytes_per_identity",
    "loose_json",
    "route_bytes",
)
_BURST_S: Final = 2.0  # the token bucket holds the requests of this time
_SHARES: Final = 5  # a host or identity has a fifth of the time of the event loop
_MAX_OWED_NS: Final = 100_000_000  # a burst of 20 ms is within the budget
_BROKER_HOSTS_AGE_S: Final = 1.0
# connections beyond the limit that are reserved for brokers; the limit on open files allows for the maximum
_MIN_RESERVE: Final = 16
_MAX_RESERVE: Final = 128
_UNLIMITED: Final = 1 << 62


class Account:
    """The time of the event loop that a host or an identity spends, against its share.

    Requests of one that overspent are not rejected: they wait for its turn (`turns`).
    """

    __slots__ = ("paid_ns",)

    def __init__(self) -> None:
        self.paid_ns = 0  # until then its share pays what it spent; in the past: nothing is owed

    def spend(self, spent_ns: int, now_ns: int) -> None:
        paid_ns = self.paid_ns
        self.paid_ns = (paid_ns if paid_ns > now_ns else now_ns) + spent_ns * _SHARES

    def is_overdrawn(self, now_ns: int) -> bool:
        return self.paid_ns > now_ns + _MAX_OWED_NS


class Host(Account):
    """One client address: its number of connections, its account, and a token bucket for its requests."""

    __slots__ = ("_filled_at", "_tokens", "connections", "identities", "name")

    def __init__(self, name: str, identities: dict[str, Account] | None = None) -> None:
        """`identities` are the accounts of identities, by name."""
        super().__init__()
        self.name = name
        self.identities = {} if identities is None else identities
        self.connections = 0
        self._tokens = 0.0
        self._filled_at = float("-inf")

    def take_token(self, now: float, *, per_second: int) -> bool:
        """Take a token from the bucket; False: it is empty."""
        tokens = min(per_second * _BURST_S, self._tokens + (now - self._filled_at) * per_second)
        self._filled_at = now
        if tokens < 1.0:
            self._tokens = tokens
            return False
        self._tokens = tokens - 1.0
        return True


class Limits:
    """Counts connections per address and rejects those beyond a limit. `exceeded` counts rejections by limit."""

    def __init__(
        self,
        settings: LimitSettings,
        *,
        exceeded: dict[str, int],
        time: Callable[[], float],
        max_files: int = _UNLIMITED,
    ) -> None:
        """`max_files` is the number of connections that the limit on open files allows."""
        max_connections = min(settings.connections or _UNLIMITED, max_files)
        self.settings = settings
        self.exceeded = exceeded
        self.time = time
        self.hosts: dict[str, Host] = {}
        self.identities: dict[str, Account] = {}  # by name
        self.connections = 0
        self._max_connections = max_connections
        self._max_per_host = settings.connections_per_address or max_connections
        self._reserve = max(_MIN_RESERVE, min(_MAX_RESERVE, max_connections // 50))
        self.broker_hosts: Callable[[], Iterable[str]] = tuple  # these hosts may use the reserve
        self._known_brokers: frozenset[str] = frozenset()
        self._known_at = float("-inf")

    def enter(self, name: str) -> Host | None:
        """Count one more connection from this host; None: it exceeds a limit."""
        host = self.hosts.get(name)
        if host is not None and host.connections >= self._max_per_host:
            self.exceeded["connections_per_address"] += 1
            return None
        if self.connections >= self._max_connections and not self._may_use_reserve(name):
            self.exceeded["connections"] += 1
            return None
        if host is None:
            host = self.hosts[name] = Host(name, self.identities)
        host.connections += 1
        self.connections += 1
        return host

    def leave(self, host: Host) -> None:
        host.connections -= 1
        self.connections -= 1
        if not host.connections:
            del self.hosts[host.name]

    def _may_use_reserve(self, name: str) -> bool:
        if self.connections >= self._max_connections + self._reserve:
            return False
        now = self.time()
        if now - self._known_at >= _BROKER_HOSTS_AGE_S:
            self._known_at = now
            self._known_brokers = frozenset(self.broker_hosts())
        return name in self._known_brokers


def limits_health(limits: Limits, *, buffer_bytes: int, is_busy: bool) -> Part:
    """Return the health component `limits`: degraded while look-ups are rejected because of overload."""
    facts: dict[str, Fact] = {
        "connections": limits.connections,
        "addresses": len(limits.hosts),
        "buffer_bytes": buffer_bytes,
        "busy": is_busy,
    }
    if not is_busy:
        return Part(facts=facts)
    says = "overload: look-ups are answered SYSTEM_BUSY, brokers are served; see routebook.limits.busyMillis"
    return Part(Condition.DEGRADED, says, facts)
