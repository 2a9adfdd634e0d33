"""Compares the content of several NameServers: a short list of differences, and which NameServer is likely stale.

A broker that is missing at one of them is one difference, together with its topics. Topics of one broker that differ
in the same way are one difference, too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec

from routebook.model import BrokerData, ClusterInfo, QueueData, TopicRoute

# Paths and addresses differ by nature, and passwords must not be shown.
_NOT_COMPARED: Final = ("path", "home", "file", "listen", "listenport", "bindaddress", "hosts", "password")


class Kind(StrEnum):
    """The subject of a difference."""

    BROKER = "broker"  # a broker group, with its topics
    MEMBER = "member"  # an address of a group that both have
    GROUP = "group"  # cluster, zone or acting-master flag of a group
    TOPIC = "topic"  # topics of a broker that both have
    QUEUES = "queues"
    PERMISSION = "permission"
    ORDER = "order"
    KV = "kv"
    SETTING = "setting"


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The content of one NameServer. `settings` is None if it does not return them."""

    who: str
    info: ClusterInfo
    routes: dict[str, TopicRoute]
    kv: dict[str, dict[str, str]] = {}
    settings: dict[str, str] | None = None


def without_order_config(routes: Mapping[str, TopicRoute]) -> dict[str, TopicRoute]:
    """Routes without the order configuration, which is not part of the route tables."""
    return {topic: msgspec.structs.replace(route, order_topic_conf=None) for topic, route in routes.items()}


class Disagreement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A difference: the value at each NameServer, None if it is missing there."""

    kind: Kind
    subject: str
    values: dict[str, str | None]
    topics: list[str] = []
    stale: list[str] = []
    because: str | None = None

    @property
    def missing_at(self) -> list[str]:
        """The NameServers without it."""
        return [who for who, value in self.values.items() if value is None]


Reachable: TypeAlias = Callable[[str], bool | None]  # by broker name; None: not checked


def disagreements(views: Sequence[View], *, reachable: Reachable = lambda _broker: None) -> list[Disagreement]:
    """All differences: brokers first, then topics, KV and settings, each sorted by name."""
    found = [*_brokers(views), *_topics(views), *_orders(views), *_kv(views), *_settings(views)]
    return [_with_suspects(one, reachable) for one in found]


def _brokers(views: Sequence[View]) -> Iterable[Disagreement]:
    entries = {view.who: _entries(view) for view in views}
    for name in sorted({name for view in views for name in view.info.broker_addr_table}):
        groups = {view.who: view.info.broker_addr_table.get(name) for view in views}
        if None in groups.values():
            topics = sorted({topic for table in entries.values() for topic in table.get(name, ())})
            values = {who: None if data is None else _addresses(data) for who, data in groups.items()}
            yield Disagreement(kind=Kind.BROKER, subject=name, values=values, topics=topics)
        here = {who: data for who, data in groups.items() if data is not None}
        for number in sorted({number for data in here.values() for number in data.broker_addrs}):
            members = {who: data.broker_addrs.get(number) for who, data in here.items()}
            if _differ(members):
                yield Disagreement(kind=Kind.MEMBER, subject=f"{name} id {number}", values=members)
        described = {who: _description(data) for who, data in here.items()}
        if _differ(described):
            yield Disagreement(kind=Kind.GROUP, subject=name, values=described)


def _topics(views: Sequence[View]) -> Iterable[Disagreement]:
    """Topics of a broker, at the NameServers that have it; topics that differ in the same way are combined."""
    entries = {view.who: _entries(view) for view in views}
    for broker in sorted({broker for table in entries.values() for broker in table}):
        tables = {
            view.who: entries[view.who].get(broker, {}) for view in views if broker in view.info.broker_addr_table
        }
        alike: dict[tuple[Kind, tuple[tuple[str, str | None], ...]], list[str]] = {}
        for topic in sorted({topic for table in tables.values() for topic in table}):
            queues = {who: table.get(topic) for who, table in tables.items()}
            for kind, values in _entry_differences(queues):
                alike.setdefault((kind, tuple(values.items())), []).append(topic)
        for (kind, same), topics in alike.items():
            yield Disagreement(kind=kind, subject=broker, values=dict(same), topics=topics)


def _entry_differences(queues: Mapping[str, QueueData | None]) -> Iterable[tuple[Kind, dict[str, str | None]]]:
    if None in queues.values() and any(queues.values()):
        yield Kind.TOPIC, {who: None if data is None else "there" for who, data in queues.items()}
    here = {who: data for who, data in queues.items() if data is not None}
    counts: dict[str, str | None] = {
        who: f"{data.read_queue_nums} to read, {data.write_queue_nums} to write" for who, data in here.items()
    }
    if _differ(counts):
        yield Kind.QUEUES, counts
    permissions: dict[str, str | None] = {who: str(data.perm) for who, data in here.items()}
    if _differ(permissions):
        yield Kind.PERMISSION, permissions


def _orders(views: Sequence[View]) -> Iterable[Disagreement]:
    """The order configuration of topics that all NameServers have."""
    for topic in sorted(set.intersection(*(set(view.routes) for view in views)) if views else ()):
        orders = {view.who: view.routes[topic].order_topic_conf or None for view in views}
        if _differ(orders):
            yield Disagreement(kind=Kind.ORDER, subject=topic, values=orders)


def _kv(views: Sequence[View]) -> Iterable[Disagreement]:
    keys = {(namespace, key) for view in views for namespace, table in view.kv.items() for key in table}
    for namespace, key in sorted(keys):
        values = {view.who: view.kv.get(namespace, {}).get(key) for view in views}
        if _differ(values):
            yield Disagreement(kind=Kind.KV, subject=f"{namespace}/{key}", values=values)


def _settings(views: Sequence[View]) -> Iterable[Disagreement]:
    """Settings that all NameServers have: other versions, and Java, have different ones."""
    tables = {view.who: view.settings for view in views if view.settings is not None}
    shared = set.intersection(*map(set, tables.values())) if tables else set()
    for key in sorted(shared):
        values: dict[str, str | None] = {who: table[key] for who, table in tables.items()}
        if _differ(values) and not key.lower().endswith(_NOT_COMPARED):
            yield Disagreement(kind=Kind.SETTING, subject=key, values=values)


def _with_suspects(one: Disagreement, reachable: Reachable) -> Disagreement:
    """Add who is likely stale: the minority; without a majority, depending on whether the broker is reachable."""
    if one.kind is Kind.SETTING:
        return one  # may differ on purpose
    camps: dict[str | None, list[str]] = {}
    for who, value in one.values.items():
        camps.setdefault(value, []).append(who)
    largest = max(map(len, camps.values()))
    if largest * 2 > len(one.values):
        stale = [who for camp in camps.values() if len(camp) < largest for who in camp]
        return msgspec.structs.replace(one, stale=stale, because=f"{largest} of {len(one.values)} differ from it")
    if one.kind is Kind.BROKER and (answers := reachable(one.subject)) is not None:
        if answers:
            return msgspec.structs.replace(one, stale=one.missing_at, because="the broker accepts connections")
        stale = [who for who, value in one.values.items() if value is not None]
        return msgspec.structs.replace(one, stale=stale, because="the broker does not accept connections")
    return one


def _entries(view: View) -> dict[str, dict[str, QueueData]]:
    """Return broker → topic → queues."""
    table: dict[str, dict[str, QueueData]] = {}
    for topic, route in view.routes.items():
        for data in route.queue_datas:
            table.setdefault(data.broker_name, {})[topic] = data
    return table


def _addresses(data: BrokerData) -> str:
    return " ".join(f"{number}={addr}" for number, addr in sorted(data.broker_addrs.items())) or "no members"


def _description(data: BrokerData) -> str | None:
    zone = f", zone {data.zone_name}" if data.zone_name else ""
    return f"cluster {data.cluster}{zone}{', acting master allowed' if data.enable_acting_master else ''}"


def _differ(values: Mapping[str, str | None]) -> bool:
    return len(set(values.values())) > 1
