"""Removes brokers: by their own request or an operator's, after a lost connection, or without heartbeats."""

from collections.abc import Container, Sequence
from typing import NamedTuple

from routebook.effects import Change, CloseConnection, RouteEffect
from routebook.events import BrokerDown, DownReason, MappingsChanged, RouteEvent, TopicCause, TopicsChanged
from routebook.model import BrokerKey, RoutePolicy
from routebook.routes.acting_master import departure_notice, is_masterless, make_read_only
from routebook.routes.state import Membership, Tables


class Departure(NamedTuple):
    """A member to remove. `claimed_id` is its id according to the request."""

    key: BrokerKey
    broker: str
    claimed_id: int


def unregister(
    tables: Tables, key: BrokerKey, *, broker: str, broker_id: int, connection: int, policy: RoutePolicy
) -> Change:
    """104, applied at once. Java: by a thread, shortly after the reply."""
    lease = tables.lease_table.get(key)
    if lease is None or broker not in lease.memberships:
        # Java: removes another broker's lease at this address, or a member of another cluster
        return Change()
    reason = DownReason.UNREGISTERED
    if lease.memberships[broker].connection not in (connection, None):
        if (key, broker) in tables.registered_over.get(connection, ()):
            # Java: J#11043, a late request over an old connection removes a registration over a newer one
            return Change()
        reason = DownReason.DEREGISTERED
    return tables.settle(*remove(tables, [Departure(key, broker, broker_id)], reason=reason, policy=policy))


def connection_lost(
    tables: Tables, connection: int, *, reason: DownReason, policy: RoutePolicy, protected: Container[BrokerKey] = ()
) -> Change:
    """Remove all brokers of a connection, except for those that registered over a newer one since.

    Java: removes only one of them (B6); the others expire. Brokers in `protected` stay, without a connection.
    """
    departures = []
    for key, broker in tables.registered_over.pop(connection, ()):
        lease = tables.lease_table.get(key)
        membership = None if lease is None else lease.memberships.get(broker)
        if lease is None or membership is None or membership.connection != connection:
            continue
        if key in protected:
            lease.memberships[broker] = Membership(membership.broker_id, None)
        else:
            departures.append(Departure(key, broker, membership.broker_id))
    return tables.settle(*remove(tables, departures, reason=reason, policy=policy))


def expire(tables: Tables, now_ms: int, *, policy: RoutePolicy, protected: Container[BrokerKey] = ()) -> Change:
    """Remove brokers without a heartbeat for longer than their timeout, except for those in `protected`.

    Their connections are closed unless another live broker uses them (Java closes these, too). Java:
    scanNotActiveBroker.
    """
    departures: list[Departure] = []
    silent: dict[int | None, None] = {}
    alive: set[int | None] = {None}
    for key, lease in tables.lease_table.items():
        if lease.last_update_ms + lease.timeout_ms < now_ms and key not in protected:
            departures += [Departure(key, broker, member.broker_id) for broker, member in lease.memberships.items()]
            silent.update((member.connection, None) for member in lease.memberships.values())
        else:
            alive.update(member.connection for member in lease.memberships.values())
    events, effects = remove(tables, departures, reason=DownReason.EXPIRED, policy=policy)
    closing = [
        CloseConnection(connection, DownReason.EXPIRED)
        for connection in silent
        if connection is not None and connection not in alive
    ]
    return tables.settle(events, [*closing, *effects])


def remove(
    tables: Tables, departures: Sequence[Departure], *, reason: DownReason, policy: RoutePolicy
) -> tuple[list[RouteEvent], list[RouteEffect]]:
    """Remove members, and the groups, queues and mappings that are left without one. Java: unRegisterBroker."""
    events: list[RouteEvent] = []
    vanished: dict[str, None] = {}
    reduced: dict[str, None] = {}
    offline: dict[str, str] = {}
    for key, broker, claimed_id in departures:
        was_first = claimed_id == tables.group_table[broker].min_id
        events.append(leave_group(tables, key, broker, reason))
        if broker not in tables.group_table:
            vanished[broker] = None
            continue
        reduced[broker] = None
        if was_first:
            offline[broker] = key.addr
    events += _drop_groups(tables, vanished)
    effects: list[RouteEffect] = []
    for broker in reduced:
        group = tables.group_table.get(broker)
        if group is None or not group.enable_acting_master:
            continue
        if is_masterless(group):
            events += make_read_only(tables, group)
        if broker in offline and policy.notify_min_broker_id_changed:
            effects.append(departure_notice(group, offline[broker]))
    return events, effects


def leave_group(tables: Tables, key: BrokerKey, broker: str, reason: DownReason) -> BrokerDown:
    """Remove a member from its group and its lease; queues and mappings stay."""
    broker_id = tables.lease_table[key].memberships[broker].broker_id
    tables.remove_member(key, broker)
    return BrokerDown(cluster=key.cluster, broker=broker, broker_id=broker_id, addr=key.addr, reason=reason)


def _drop_groups(tables: Tables, vanished: dict[str, None]) -> list[RouteEvent]:
    if not vanished:
        return []
    removed = tables.drop_queues_of(vanished)
    return [
        *(
            TopicsChanged(broker=broker, cause=TopicCause.REMOVAL, removed=tuple(topics))
            for broker, topics in removed.items()
            if topics
        ),
        *_drop_orphaned_mappings(tables),
    ]


def _drop_orphaned_mappings(tables: Tables) -> list[RouteEvent]:
    """Drop mappings under names without a group. Java: keeps them (B5)."""
    orphans: dict[str, list[str]] = {}
    for topic, mappings in tables.mapping_table.items():
        for broker in mappings:
            if broker not in tables.group_table:
                orphans.setdefault(broker, []).append(topic)
    for broker, topics in orphans.items():
        for topic in topics:
            tables.drop_mapping(topic, broker)
    return [MappingsChanged(broker=broker, removed=tuple(topics)) for broker, topics in orphans.items()]
