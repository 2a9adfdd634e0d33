"""Totals: limits on what the tables hold, in all and per identity. Only growth is rejected.

The owner of a broker is the identity that registered it last, the owner of a KV entry the one that put it. Owners are
kept in memory: after a restart brokers register again, and KV entries from the file count only in all.
"""

from typing import TYPE_CHECKING, Final

from routebook.errors import TooMuch
from routebook.kv import entry_size
from routebook.model import Registration
from routebook.settings import TotalSettings

if TYPE_CHECKING:
    from routebook.handlers.nameserver import NameServer
    from routebook.handlers.outcome import Caller

_ROUTE_LIMITS: Final = ("brokers", "topics", "queues", "mappings")


class Totals:
    """Who owns what. `check_…` raise TooMuch; nothing has changed then."""

    __slots__ = ("_brokers", "_kv_bytes", "_kv_owners", "_owners")

    def __init__(self) -> None:
        self._owners: dict[str, str] = {}  # broker name → identity
        self._brokers: dict[str, dict[str, None]] = {}  # identity → broker names
        self._kv_owners: dict[tuple[str, str], str] = {}
        self._kv_bytes: dict[str, int] = {}  # by identity

    def check_registration(self, ns: "NameServer", registration: Registration, caller: "Caller") -> None:
        """Check a registration that is about to be applied."""
        limits, routes, body = ns.settings.totals, ns.routes, registration.body
        topics, broker = body.topics or (), registration.broker
        if registration.key not in routes.lease_table:
            _check("brokers", len(routes.lease_table) + 1, limits.brokers)
        group = routes.group_table.get(broker)
        more = max(0, len(topics) - (0 if group is None else group.topics))
        table = routes.topic_table
        if limits.topics and len(table) + len(topics) > limits.topics:
            new = sum(config.topic_name not in table for config in topics)
            _check("topics", len(table) + new, limits.topics if new else 0)
        if more:
            _check("queues", queues(ns) + more, limits.queues)
        if body.mappings:
            new = sum(topic not in routes.mapping_table for topic in body.mappings)
            _check("mappings", len(routes.mapping_table) + new, limits.mappings if new else 0)
        if caller.who is not None:
            self._check_identity(ns, caller.who, registration, more)

    def _check_identity(self, ns: "NameServer", who: str, registration: Registration, more: int) -> None:
        limits, owned = ns.settings.totals, self._brokers.get(who, {})
        if registration.broker not in owned:
            _check("brokers_per_identity", len(owned) + 1, limits.brokers_per_identity, who)
        if more:
            groups = ns.routes.group_table
            count = sum(groups[name].topics for name in owned if name in groups) + more
            _check("queues_per_identity", count, limits.queues_per_identity, who)
        _check("mappings_per_identity", len(registration.body.mappings), limits.mappings_per_identity, who)

    def registered(self, broker: str, who: str | None) -> None:
        """A broker registered; an identity owns it from now on."""
        if who is None or self._owners.get(broker) == who:
            return
        self.removed(broker)
        self._owners[broker] = who
        self._brokers.setdefault(who, {})[broker] = None

    def removed(self, broker: str) -> None:
        """A broker left."""
        who = self._owners.pop(broker, None)
        if who is not None:
            del self._brokers[who][broker]
            if not self._brokers[who]:
                del self._brokers[who]

    def check_topic(self, ns: "NameServer", topic: str) -> None:
        """Check a 217 that may add a topic."""
        if topic not in ns.routes.topic_table:
            _check("topics", len(ns.routes.topic_table) + 1, ns.settings.totals.topics)

    def check_kv(self, ns: "NameServer", caller: "Caller", namespace: str, key: str, value: str | None) -> None:
        """Check a KV entry that is about to be stored."""
        limits, growth = ns.settings.totals, ns.kv.growth(namespace, key, value)
        if growth <= 0:
            return
        _check("kv_bytes", ns.kv.size + growth, limits.kv_bytes)
        if caller.who is not None:
            owned = self._kv_bytes.get(caller.who, 0) + entry_size(key, value) - self._owned(ns, caller, namespace, key)
            _check("kv_bytes_per_identity", owned, limits.kv_bytes_per_identity, caller.who)

    def put_kv(self, ns: "NameServer", caller: "Caller", namespace: str, key: str, value: str | None) -> None:
        """A KV entry is stored next; the caller owns it from now on."""
        self.delete_kv(ns, namespace, key)
        if caller.who is not None:
            self._kv_owners[namespace, key] = caller.who
            self._kv_bytes[caller.who] = self._kv_bytes.get(caller.who, 0) + entry_size(key, value)

    def delete_kv(self, ns: "NameServer", namespace: str, key: str) -> None:
        """A KV entry is removed next."""
        owner = self._kv_owners.pop((namespace, key), None)
        if owner is not None:
            self._kv_bytes[owner] -= entry_size(key, ns.kv.get(namespace, key))

    def _owned(self, ns: "NameServer", caller: "Caller", namespace: str, key: str) -> int:
        is_owner = self._kv_owners.get((namespace, key)) == caller.who
        return entry_size(key, ns.kv.get(namespace, key)) if is_owner else 0


def queues(ns: "NameServer") -> int:
    """The sum of the topics of all brokers."""
    return sum(group.topics for group in ns.routes.group_table.values())


def usage(ns: "NameServer") -> dict[str, tuple[int, int]]:
    """What is in the tables, and its limit (0: none), by the name of the limit."""
    routes, limits = ns.routes, ns.settings.totals
    found = (len(routes.lease_table), len(routes.topic_table), queues(ns), len(routes.mapping_table))
    used = {name: (count, _limit(limits, name)) for name, count in zip(_ROUTE_LIMITS, found, strict=True)}
    return {**used, "kv_bytes": (ns.kv.size, limits.kv_bytes)}


def _limit(limits: TotalSettings, name: str) -> int:
    value: int = getattr(limits, name)
    return value


def _check(limit: str, count: int, maximum: int, who: str | None = None) -> None:
    if maximum and count > maximum:
        setting = "".join(part.title() if place else part for place, part in enumerate(limit.split("_")))
        of = "" if who is None else f" of {who}"
        remark = f"{count} {limit.replace('_', ' ')}{of} would exceed routebook.limits.{setting}={maximum}"
        raise TooMuch(f"{remark}: nothing was changed", limit=limit)
