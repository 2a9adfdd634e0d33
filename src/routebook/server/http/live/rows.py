"""The brokers as consoles see them: one row for each member of a group, and for those that left lately."""

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from routebook.codes import MASTER_ID, version_text
from routebook.handlers import NameServer
from routebook.routes.state import BrokerGroup, Lease
from routebook.server.http.live.recent import Recent


class BrokerState(StrEnum):
    """How sure it is that a broker is there."""

    UP = "up"
    RECOVERED = "recovered"  # known from before a restart, or kept while silent
    SUSPECTED = "suspected"  # silent for more than half of its timeout
    DOWN = "down"  # it left within the last day


class BrokerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One member of a broker group. `key` is unique."""

    key: str
    name: str
    id: int
    addr: str
    cluster: str
    zone: str | None
    role: str  # master, slave, acting
    state: BrokerState
    last_seen_ms: int
    timeout_ms: int
    version: str | None
    data_version: int | None
    topics: int
    since_ms: int | None
    down_at_ms: int | None = None
    reason: str | None = None

    def looks_like(self, other: "BrokerRow") -> bool:
        """Apart from its last sign of life, which changes all the time, and its topics, which many change at once."""
        return (
            (self.state, self.role, self.addr, self.cluster, self.zone)
            == (other.state, other.role, other.addr, other.cluster, other.zone)
            and (self.timeout_ms, self.version, self.since_ms) == (other.timeout_ms, other.version, other.since_ms)
            and (self.down_at_ms, self.reason) == (other.down_at_ms, other.reason)
        )

    def has_topics_of(self, other: "BrokerRow") -> bool:
        return (self.topics, self.data_version) == (other.topics, other.data_version)


def broker_rows(ns: NameServer, recent: Recent, now_ms: int) -> dict[str, BrokerRow]:
    """By key."""
    found = {row.key: row for group in ns.routes.group_table.values() for row in _members(ns, group, recent, now_ms)}
    for lost in recent.lost.values():
        group = ns.routes.group(lost.name)
        if group is not None and group.member_at(lost.addr) is not None:
            continue
        key = f"{lost.name}#{lost.broker_id}!{lost.addr}"
        found[key] = BrokerRow(
            key=key,
            name=lost.name,
            id=lost.broker_id,
            addr=lost.addr,
            cluster=lost.cluster,
            zone=None if group is None else group.zone,
            role="master" if lost.broker_id == MASTER_ID else "slave",
            state=BrokerState.DOWN,
            last_seen_ms=lost.at_ms,
            timeout_ms=0,
            version=None,
            data_version=None,
            topics=0,
            since_ms=None,
            down_at_ms=lost.at_ms,
            reason=lost.reason,
        )
    return found


def state_of(lease: Lease, *, connected: bool, now_ms: int) -> BrokerState:
    if not connected:
        return BrokerState.RECOVERED
    if (now_ms - lease.last_update_ms) * 2 > lease.timeout_ms:
        return BrokerState.SUSPECTED
    return BrokerState.UP


def _members(ns: NameServer, group: BrokerGroup, recent: Recent, now_ms: int) -> Iterator[BrokerRow]:
    leases = ns.routes.lease_table
    acting = ns.settings.policy.support_acting_master and group.enable_acting_master and MASTER_ID not in group.members
    for broker_id, key in group.members.items():
        lease = leases[key]
        version = lease.data_version
        role = "master" if broker_id == MASTER_ID else "acting" if acting and broker_id == group.least_id else "slave"
        yield BrokerRow(
            key=f"{group.name}#{broker_id}",
            name=group.name,
            id=broker_id,
            addr=key.addr,
            cluster=key.cluster,
            zone=group.zone,
            role=role,
            state=state_of(lease, connected=lease.seats[group.name].connection is not None, now_ms=now_ms),
            last_seen_ms=lease.last_update_ms,
            timeout_ms=lease.timeout_ms,
            version=version_text(lease.version) if lease.version else None,
            data_version=None if version is None else version.counter,
            topics=group.topics,
            since_ms=recent.came_ms.get((group.name, key.addr)),
        )
