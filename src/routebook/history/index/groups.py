"""Replays broker events with the route tables' own replay and reports which broker groups changed."""

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


class VisibleGroup(msgspec.Struct, frozen=True):
    """What a route contains about a group: addresses by broker id, and filter servers by address."""

    cluster: str
    acting_master: bool
    zone: str | None
    addrs: dict[int, str]
    filter_servers: dict[str, tuple[str, ...]]


class GroupState(msgspec.Struct, frozen=True, array_like=True):
    """A group. A member may belong to another cluster than its group; routes do not contain that."""

    cluster: str
    acting_master: bool
    zone: str | None
    members: tuple[Member, ...]

    @property
    def addrs(self) -> dict[int, str]:
        return {member.broker_id: member.addr for member in self.members}

    @property
    def visible(self) -> VisibleGroup:
        filters = {member.addr: member.filter_servers for member in self.members if member.filter_servers}
        return VisibleGroup(self.cluster, self.acting_master, self.zone, self.addrs, filters)


class GroupReplay:
    """All groups as of the last event."""

    def __init__(self, states: Mapping[str, GroupState]) -> None:
        self._tables = Tables()
        self._states = dict(states)
        for name, state in states.items():
            for member in state.members:
                key = BrokerKey(member.cluster, member.addr)
                lease = self._tables.add_member(key, broker=name, broker_id=member.broker_id, connection=None)
                lease.filter_servers = member.filter_servers
            group = self._tables.group_table[name]
            group.cluster, group.enable_acting_master, group.zone = state.cluster, state.acting_master, state.zone

    def apply(self, event: BrokerUp | BrokerChanged | BrokerDown) -> dict[str, GroupState | None]:
        """Apply an event and return the groups that changed; None: removed."""
        apply(self._tables, event, now_ms=0)
        lease = self._tables.lease_table.get(BrokerKey(event.cluster, event.addr))
        sharers = () if lease is None else lease.memberships
        return self._changed({event.broker, *sharers})

    def clear(self) -> dict[str, GroupState | None]:
        """Remove all groups: the NameServer started with empty tables."""
        removed: dict[str, GroupState | None] = dict.fromkeys(self._states)
        self._tables = Tables()
        self._states.clear()
        return removed

    def _changed(self, names: set[str]) -> dict[str, GroupState | None]:
        changed: dict[str, GroupState | None] = {}
        for name in names:
            group = self._tables.group_table.get(name)
            state = None if group is None else self._state(group)
            if state != self._states.get(name):
                changed[name] = state
                if state is None:
                    del self._states[name]
                else:
                    self._states[name] = state
        return changed

    def _state(self, group: BrokerGroup) -> GroupState:
        leases = self._tables.lease_table
        members = (
            Member(broker_id, key.cluster, key.addr, leases[key].filter_servers)
            for broker_id, key in group.members.items()
        )
        return GroupState(group.cluster, group.enable_acting_master, group.zone, tuple(members))
