"""The checks of NameServers, brokers and topics."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from routebook.codes import (
    MASTER_ID,
    PERM_READ,
    PERM_WRITE,
    SYSTEM_TOPIC_PREFIXES,
    SYSTEM_TOPICS,
    version_text,
)
from routebook.doctor.controller_checks import broker_sets, controllers
from routebook.doctor.observation import (
    Finding,
    Observation,
    Severity,
    broker_groups,
    counted,
    is_local,
    listed,
    topic_entries,
)
from routebook.model import BrokerData

_DAY_MS: Final = 86_400_000
_EXPIRES_SOON_DAYS: Final = 14
_SKEW_MS: Final = 10_000

SYSTEM_PREFIXES: Final = (*SYSTEM_TOPIC_PREFIXES, "%RETRY%", "%DLQ%")

error, warning, note = (partial(Finding, severity) for severity in Severity)


def _answering(observed: Observation) -> Iterable[Finding]:
    for server in observed.nameservers:
        if server.failure is not None:
            advice = "Start it, or remove it from the configuration of all brokers and clients, which lose time on it."
            yield error("nameserver", f"NameServer {server.failure}", advice)
    if len(observed.nameservers) == 1:
        advice = "If there are more, name all of them (-n HOST:PORT;HOST:PORT). If not, run a second one."
        yield note("nameserver", f"{observed.nameservers[0].who} is the only NameServer that was given", advice)
    if observed.views and not any(view.info.broker_addr_table for view in observed.views):
        advice = "Check namesrvAddr of the brokers, and whether they can reach the port of the NameServer."
        yield warning("nameserver", "no broker is registered", advice)


def _agreement(observed: Observation) -> Iterable[Finding]:
    where = " ".join(view.who for view in observed.views)
    for text in observed.disagreements:
        yield warning("agreement", text, f"routebook diff {where} shows which one is likely stale.")


def _masters(observed: Observation) -> Iterable[Finding]:
    for name, data in broker_groups(observed).items():
        if MASTER_ID not in data.broker_addrs:
            text = f"broker {name} of cluster {data.cluster} has no master: clients cannot publish to it"
            advice = "Restart its master, or let a slave take over (Controller, or enableSlaveActingMaster)."
            yield error("master", text, advice)


def _addresses(observed: Observation) -> Iterable[Finding]:
    users: dict[str, list[str]] = {}  # the brokers of each address, at any NameServer
    moved: dict[str, list[str]] = {}  # the addresses of each broker: two, if it moved and a NameServer has the old one
    shared: dict[str, list[str]] = {}  # addresses of several brokers at one NameServer
    for view in observed.views:
        here: dict[str, list[str]] = {}
        for name, data in sorted(view.info.broker_addr_table.items()):
            for number, addr in sorted(data.broker_addrs.items()):
                here.setdefault(addr, []).append(f"{name} id {number}")
        for addr, members in here.items():
            if len(members) > 1:
                shared[addr] = members
            users[addr] = [*dict.fromkeys([*users.get(addr, ()), *members])]
            for member in members:
                moved[member] = [*dict.fromkeys([*moved.get(member, ()), addr])]
    remote = any(not server.local for server in observed.nameservers)
    for addr, members in users.items():
        who = " and ".join(members)
        if addr in shared:
            advice = "Give each broker a unique address (brokerIP1, listenPort)."
            yield error("address", f"{addr} is advertised by {' and '.join(shared[addr])}", advice)
        found = observed.addresses.get(addr)
        if found is not None and found.failure is not None:
            others = [one for member in members for one in moved[member] if one != addr]
            advice = (
                f"Another NameServer lists it at {others[0]}: it moved, and the old address stays until its lease ends."
                if others
                else "If it runs, other clients may have the same problem: check brokerIP1 and firewalls."
            )
            yield error("reachable", f"broker {who} at {addr} {found.failure}", advice)
        elif found is not None and found.unresponsive is not None:
            advice = "It may hang, or another program listens on its port: check its log and its load."
            yield warning("reachable", f"broker {who} at {addr} accepts connections but {found.unresponsive}", advice)
        if remote and is_local(addr):
            advice = "Set brokerIP1 to an address that clients can reach."
            yield error("address", f"broker {who} advertises {addr}, which only its own machine can reach", advice)


def _names(observed: Observation) -> Iterable[Finding]:
    clusters: dict[str, set[str]] = {}
    for view in observed.views:
        for cluster, names in view.info.cluster_addr_table.items():
            for name in names:
                clusters.setdefault(name, set()).add(cluster)
    for name, of in sorted(clusters.items()):
        if len(of) > 1:
            text = f"broker name {name} is used in clusters {listed(sorted(of))}: their members are mixed"
            advice = "Broker names must be unique in all clusters of a NameServer: rename one of them."
            yield error("names", text, advice)


def _permissions(observed: Observation) -> Iterable[Finding]:
    entries = topic_entries(observed)
    groups = broker_groups(observed)
    by_broker: dict[str, list[int]] = {}
    for table in entries.values():
        for broker, data in table.items():
            by_broker.setdefault(broker, []).append(data.perm)
    wiped = {broker for broker, perms in by_broker.items() if not any(perm & PERM_WRITE for perm in perms)}
    for broker in sorted(wiped & set(groups)):
        text = f"no topic of broker {broker} is writable: its write permission was removed"
        advice = f"If its maintenance is complete: routebook broker restore {broker}"
        yield warning("permission", text, advice)
    closed = sorted(
        topic
        for topic, table in entries.items()
        if not any(data.perm & PERM_WRITE for data in table.values())
        and not set(table) <= wiped
        and any(data.perm & PERM_READ for data in table.values())
    )
    if closed:
        advice = "If this is not intended: mqadmin updateTopicPerm."
        yield note("permission", f"{counted(closed, 'topic')} can be read but not written: {listed(closed)}", advice)


def _placement(observed: Observation) -> Iterable[Finding]:
    groups = broker_groups(observed)
    sizes: dict[str, int] = {}
    for data in groups.values():
        sizes[data.cluster] = sizes.get(data.cluster, 0) + 1
    alone: dict[str, list[str]] = {}
    for topic, table in topic_entries(observed).items():
        if len(table) == 1 and not _is_system_topic(topic, groups):
            alone.setdefault(next(iter(table)), []).append(topic)
    for broker, topics in sorted(alone.items()):
        several = broker in groups and sizes[groups[broker].cluster] > 1
        yield (warning if several else note)(
            "placement",
            f"{counted(topics, 'topic')} only on broker {broker}: {listed(sorted(topics))}",
            "If it stops, clients cannot publish to them: add brokers with mqadmin updateTopic."
            if several
            else "Its cluster has no other broker: if it stops, clients cannot publish.",
        )


def _orders(observed: Observation) -> Iterable[Finding]:
    for topic, why in sorted(observed.unusable_orders.items()):
        yield error("order", why, f"routebook topic order {topic} BROKER:QUEUES;… corrects it, --delete removes it.")


def _clocks(observed: Observation) -> Iterable[Finding]:
    for addr, found in sorted(observed.addresses.items()):
        if found.boot_ms is not None and found.boot_ms > observed.now_ms + _SKEW_MS:
            ahead_s = (found.boot_ms - observed.now_ms) // 1000
            text = f"the clock of {addr} is {ahead_s} s or more ahead of the local clock: it started in the future"
            advice = "Synchronise both with NTP: message times, delays and retention depend on it."
            yield warning("clock", text, advice)


def _versions(observed: Observation) -> Iterable[Finding]:
    servers = _by_version({server.who: server.version for server in observed.nameservers})
    brokers = _by_version({addr: found.version for addr, found in observed.addresses.items()})
    for what, versions in (("NameServers", servers), ("brokers", brokers)):
        if len(versions) > 1:
            shown = "; ".join(f"{version}: {listed(sorted(who))}" for version, who in sorted(versions.items()))
            advice = "This is expected during a rolling upgrade; complete it."
            yield warning("version", f"{what} run different versions: {shown}", advice)


def _tls(observed: Observation) -> Iterable[Finding]:
    for server in observed.nameservers:
        if server.tls is False and not server.local:
            advice = "Set tls.server.mode=permissive there, then -Dtls.enable=true at brokers and clients."
            yield note("tls", f"{server.who} does not use TLS: routes can be read and changed in transit", advice)
        if server.certificate_until_ms is None:
            continue
        days = (server.certificate_until_ms - observed.now_ms) // _DAY_MS
        if days < _EXPIRES_SOON_DAYS:
            state = "expired" if days < 0 else f"expires in {counted(days, 'day')}"
            advice = "Replace it; clients that verify it will refuse to connect."
            yield warning("tls", f"the certificate of {server.who} {state}", advice)


CHECKS: Final[tuple[Callable[[Observation], Iterable[Finding]], ...]] = (
    _answering,
    _agreement,
    _masters,
    _addresses,
    _names,
    _permissions,
    _placement,
    _orders,
    _clocks,
    _versions,
    _tls,
    controllers,
    broker_sets,
)


def _is_system_topic(topic: str, groups: Mapping[str, BrokerData]) -> bool:
    """Whether RocketMQ created the topic itself, as it does for each broker and cluster, too."""
    clusters = {data.cluster for data in groups.values()}
    own = topic in groups or topic in clusters or topic.removesuffix("_REPLY_TOPIC") in clusters
    return own or topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIXES)


def _by_version(versions: Mapping[str, int | None]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for who, version in versions.items():
        if version is not None:
            found.setdefault(version_text(version), []).append(who)
    return found
