"""How much one peer, and all of them, may take: connections, requests a second, memory for what waits."""

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
)
_BURST_S: Final = 2.0  # so many seconds' worth of requests may come at once
_BROKER_LOOK_S: Final = 1.0
_LEAST_RESERVE: Final = 16  # connections beyond the limit that brokers may have
_MOST_RESERVE: Final = 128  # open files allow for as many


class Host:
    """One address that is connected, however often, and the requests that it may still send just now."""

    __slots__ = ("_filled_at", "_tokens", "connections", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.connections = 0
        self._tokens = 0.0
        self._filled_at = float("-inf")

    def take_token(self, now: float, *, per_second: int) -> bool:
        """Take a token from the bucket; False: it is empty."""
        most = per_second * _BURST_S
        tokens = min(most, self._tokens + (now - self._filled_at) * per_second)
        self._filled_at = now
        if tokens < 1.0:
            self._tokens = tokens
            return False
        self._tokens = tokens - 1.0
        return True


class Limits:
    """Who is connected from where, and whether one more may. `exceeded` counts what was refused, by limit."""

    def __init__(
        self,
        settings: LimitSettings,
        *,
        exceeded: dict[str, int],
        time: Callable[[], float],
        max_files: int | None = None,
    ) -> None:
        """`max_files`: connections that this process can have at all."""
        most = min(limit for limit in (settings.connections or None, max_files, 1 << 62) if limit is not None)
        self.settings = settings
        self.exceeded = exceeded
        self.time = time
        self.hosts: dict[str, Host] = {}
        self.connections = 0
        self._most = most
        self._most_of_one = settings.connections_per_address or most
        self._reserve = max(_LEAST_RESERVE, min(_MOST_RESERVE, most // 50))
        self.broker_hosts: Callable[[], Iterable[str]] = tuple  # they come in even when there is no room for others
        self._known_brokers: frozenset[str] = frozenset()
        self._looked_at = float("-inf")

    def enter(self, name: str) -> Host | None:
        """One more connection from this address; None if that is one too many."""
        host = self.hosts.get(name)
        if host is not None and host.connections >= self._most_of_one:
            self.exceeded["connections_per_address"] += 1
            return None
        if self.connections >= self._most and not self._is_wanted(name):
            self.exceeded["connections"] += 1
            return None
        if host is None:
            host = self.hosts[name] = Host(name)
        host.connections += 1
        self.connections += 1
        return host

    def leave(self, host: Host) -> None:
        host.connections -= 1
        self.connections -= 1
        if not host.connections:
            del self.hosts[host.name]

    def _is_wanted(self, name: str) -> bool:
        if self.connections >= self._most + self._reserve:
            return False
        now = self.time()
        if now - self._looked_at >= _BROKER_LOOK_S:
            self._looked_at = now
            self._known_brokers = frozenset(self.broker_hosts())
        return name in self._known_brokers


def limits_health(limits: Limits, *, buffer_bytes: int, is_busy: bool) -> Part:
    """The health component `limits`: degraded while look-ups are rejected because of overload."""
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
