"""Broker groups from their events, by the tables' own replay: what they show, and when that is news."""

from collections.abc import Mapping

import msgspec

from routebook.events import BrokerChanged, BrokerDown, BrokerUp
from routebook.model import BrokerKey
from routebook.routes.replay import apply
from routebook.routes.state import BrokerGroup, Tables


class Member(msgspec.Struct, frozen=True, array_like=True):
    """One broker of a group."""

    broker_id: int
    cluster: str
    addr: str
    filter_servers: tuple[str, ...] = ()


class ShownGroup(msgspec.Struct, frozen=True):
    """What a route shows of a group: addresses by id, and filter servers by address."""

    cluster: str
    acting_master: bool
    zone: str | None
    addrs: dict[int, str]
    filter_servers: dict[str, tuple[str, ...]]


class GroupState(msgspec.Struct, frozen=True, array_like=True):
    """A group; that a member is of another cluster than its group, no route shows."""

    cluster: str
    acting_master: bool
    zone: str | None
    members: tuple[Member, ...]

    @property
    def addrs(self) -> dict[int, str]:
        return {member.broker_id: member.addr for member in self.members}

    @property
    def shown(self) -> ShownGroup:
        filters = {member.addr: member.filter_servers for member in self.members if member.filter_servers}
        return ShownGroup(self.cluster, self.acting_master, self.zone, self.addrs, filters)


class Groups:
    """All groups as they are after the last event."""

    def __init__(self, states: Mapping[str, GroupState]) -> None:
        self._tables = Tables()
        self._shown = dict(states)
        for name, state in states.items():
            for member in state.members:
                key = BrokerKey(member.cluster, member.addr)
                lease = self._tables.seat(key, broker=name, broker_id=member.broker_id, connection=None)
                lease.filter_servers = member.filter_servers
            group = self._tables.group_table[name]
            group.cluster, group.enable_acting_master, group.zone = state.cluster, state.acting_master, state.zone

    def apply(self, event: BrokerUp | BrokerChanged | BrokerDown) -> dict[str, GroupState | None]:
        """The groups that routes show otherwise now; None: gone."""
        apply(self._tables, event, now_ms=0)
        lease = self._tables.lease_table.get(BrokerKey(event.cluster, event.addr))
        sharers = () if lease is None else lease.seats
        return self._news({event.broker, *sharers})

    def clear(self) -> dict[str, GroupState | None]:
        """The NameServer began with empty tables."""
        gone: dict[str, GroupState | None] = dict.fromkeys(self._shown)
        self._tables = Tables()
        self._shown.clear()
        return gone

    def _news(self, names: set[str]) -> dict[str, GroupState | None]:
        news: dict[str, GroupState | None] = {}
        for name in names:
            group = self._tables.group_table.get(name)
            state = None if group is None else self._state(group)
            if state != self._shown.get(name):
                news[name] = state
                if state is None:
                    del self._shown[name]
                else:
                    self._shown[name] = state
        return news

    def _state(self, group: BrokerGroup) -> GroupState:
        leases = self._tables.lease_table
        members = (
            Member(broker_id, key.cluster, key.addr, leases[key].filter_servers)
            for broker_id, key in group.members.items()
        )
        return GroupState(group.cluster, group.enable_acting_master, group.zone, tuple(members))
