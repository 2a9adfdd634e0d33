"""Broker rows of the console: one per registered broker, and one per broker that left within a day."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import msgspec

from routebook.codes import MASTER_ID, version_text
from routebook.handlers import NameServer
from routebook.routes.state import BrokerGroup
from routebook.server.http.live.recent_activity import RecentActivity
from routebook.server.http.views.answers import MemberState
from routebook.server.http.views.tables import state_of


class BrokerState(StrEnum):
    """State of a broker in the console."""

    UP = "up"
    RECOVERED = "recovered"  # from before a restart, or protected from expiry: waiting to re-register
    SUSPECTED = "suspected"  # no heartbeat for more than half of its timeout
    DOWN = "down"  # left within the last day


_STATES: Final = {
    MemberState.REGISTERED: BrokerState.UP,
    MemberState.LATE: BrokerState.SUSPECTED,
    MemberState.RECOVERED: BrokerState.RECOVERED,
}


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
    timeout_ms: int = 0
    version: str | None = None
    data_version: int | None = None
    topics: int = 0
    since_ms: int | None = None
    down_at_ms: int | None = None
    reason: str | None = None
    read_only: bool = False  # no topic of the group accepts writes

    def looks_like(self, other: "BrokerRow") -> bool:
        """Compare without the last heartbeat and the topic count, which change often and for many rows at once."""
        return (
            (self.state, self.role, self.addr, self.cluster, self.zone)
            == (other.state, other.role, other.addr, other.cluster, other.zone)
            and (self.timeout_ms, self.version, self.since_ms) == (other.timeout_ms, other.version, other.since_ms)
            and (self.down_at_ms, self.reason, self.read_only) == (other.down_at_ms, other.reason, other.read_only)
        )

    def has_same_topics(self, other: "BrokerRow") -> bool:
        return (self.topics, self.data_version) == (other.topics, other.data_version)


def broker_rows(ns: NameServer, recent: RecentActivity, now_ms: int) -> dict[str, BrokerRow]:
    """All rows by key."""
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
            down_at_ms=lost.at_ms,
            reason=lost.reason,
        )
    return found


def _members(ns: NameServer, group: BrokerGroup, recent: RecentActivity, now_ms: int) -> Iterator[BrokerRow]:
    leases = ns.routes.lease_table
    acting = ns.settings.policy.support_acting_master and group.enable_acting_master and MASTER_ID not in group.members
    for broker_id, key in group.members.items():
        lease = leases[key]
        version, since = lease.data_version, recent.registered.get(group.name, {}).get(key.addr)
        role = "master" if broker_id == MASTER_ID else "acting" if acting and broker_id == group.min_id else "slave"
        yield BrokerRow(
            key=f"{group.name}#{broker_id}",
            name=group.name,
            id=broker_id,
            addr=key.addr,
            cluster=key.cluster,
            zone=group.zone,
            role=role,
            state=_STATES[state_of(lease, lease.memberships[group.name], now_ms)],
            last_seen_ms=lease.last_update_ms,
            timeout_ms=lease.timeout_ms,
            version=version_text(lease.version) if lease.version else None,
            data_version=None if version is None else version.counter,
            topics=group.topics,
            since_ms=None if since is None else since.at_ms,
            read_only=group.name in recent.read_only,
        )
