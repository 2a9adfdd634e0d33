"""Brokers go: they say so, an operator does, their connection closes, or they fall silent."""

from collections.abc import Container, Sequence
from typing import NamedTuple

from routebook.effects import Change, CloseConnection, RouteEffect
from routebook.events import BrokerDown, DownReason, MappingsChanged, RouteEvent, TopicCause, TopicsChanged
from routebook.model import BrokerKey, RoutePolicy
from routebook.routes.acting_master import departure_notice, is_masterless, make_read_only
from routebook.routes.state import Seat, Tables


class Leaver(NamedTuple):
    """A member that goes. `said_id` is the id that whoever sends it away believes it has."""

    key: BrokerKey
    broker: str
    said_id: int


def unregister(
    tables: Tables, key: BrokerKey, *, broker: str, broker_id: int, connection: int, policy: RoutePolicy
) -> Change:
    """104, done at once (in Java by a thread, a moment later)."""
    lease = tables.lease_table.get(key)
    if lease is None or broker not in lease.seats:
        # Java: drops the lease of whoever is at this address, or a member of another cluster; nobody was meant here
        return Change()
    reason = DownReason.UNREGISTERED
    if lease.seats[broker].connection not in (connection, None):
        if (key, broker) in tables.registered_over.get(connection, ()):
            # Java: J#11043, the late farewell of an old connection removes what a newer one has registered since
            return Change()
        reason = DownReason.DEREGISTERED
    return tables.settle(*remove(tables, [Leaver(key, broker, broker_id)], reason=reason, policy=policy))


def connection_lost(
    tables: Tables, connection: int, *, reason: DownReason, policy: RoutePolicy, spare: Container[BrokerKey] = ()
) -> Change:
    """All brokers of a connection go with it, but for those that registered over a newer one since.

    Java: only one of them goes (B6), the others when their lease expires. Those in `spare` stay, without a connection.
    """
    leavers = []
    for key, broker in tables.registered_over.pop(connection, ()):
        lease = tables.lease_table.get(key)
        seat = None if lease is None else lease.seats.get(broker)
        if lease is None or seat is None or seat.connection != connection:
            continue
        if key in spare:
            lease.seats[broker] = Seat(seat.broker_id, None)
        else:
            leavers.append(Leaver(key, broker, seat.broker_id))
    return tables.settle(*remove(tables, leavers, reason=reason, policy=policy))


def expire(tables: Tables, now_ms: int, *, policy: RoutePolicy, spare: Container[BrokerKey] = ()) -> Change:
    """Brokers that were silent for longer than their timeout go, but for those in `spare`. Java: scanNotActiveBroker.

    Their connections are closed, but for those that still carry a living broker (Java closes these, too).
    """
    leavers: list[Leaver] = []
    silent: dict[int, None] = {}
    alive: set[int | None] = set()
    for key, lease in tables.lease_table.items():
        if lease.last_update_ms + lease.timeout_ms < now_ms and key not in spare:
            leavers += [Leaver(key, broker, seat.broker_id) for broker, seat in lease.seats.items()]
            silent.update((seat.connection, None) for seat in lease.seats.values() if seat.connection is not None)
        else:
            alive.update(seat.connection for seat in lease.seats.values())
    events, effects = remove(tables, leavers, reason=DownReason.EXPIRED, policy=policy)
    closing = [CloseConnection(connection, DownReason.EXPIRED) for connection in silent if connection not in alive]
    return tables.settle(events, [*closing, *effects])


def remove(
    tables: Tables, leavers: Sequence[Leaver], *, reason: DownReason, policy: RoutePolicy
) -> tuple[list[RouteEvent], list[RouteEffect]]:
    """Take members out, and with them what nobody serves any more. Java: unRegisterBroker."""
    events: list[RouteEvent] = []
    vanished: dict[str, None] = {}
    reduced: dict[str, None] = {}
    offline: dict[str, str] = {}
    for key, broker, said_id in leavers:
        led = said_id == tables.group_table[broker].least_id
        events.append(take_out(tables, key, broker, reason))
        if broker not in tables.group_table:
            vanished[broker] = None
            continue
        reduced[broker] = None
        if led:
            offline[broker] = key.addr
    events += _forget_groups(tables, vanished)
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


def take_out(tables: Tables, key: BrokerKey, broker: str, reason: DownReason) -> BrokerDown:
    """One member leaves its group and its lease; queues and mappings stay."""
    broker_id = tables.lease_table[key].seats[broker].broker_id
    tables.unseat(key, broker)
    return BrokerDown(cluster=key.cluster, broker=broker, broker_id=broker_id, addr=key.addr, reason=reason)


def _forget_groups(tables: Tables, vanished: dict[str, None]) -> list[RouteEvent]:
    if not vanished:
        return []
    removed = tables.drop_queues_of(vanished)
    return [
        *(
            TopicsChanged(broker=broker, cause=TopicCause.REMOVAL, removed=tuple(topics))
            for broker, topics in removed.items()
            if topics
        ),
        *_forget_mappings(tables),
    ]


def _forget_mappings(tables: Tables) -> list[RouteEvent]:
    """Drop mappings under names that no group bears, for nobody else ever would. Java: keeps them for ever (B5)."""
    orphans: dict[str, list[str]] = {}
    for topic, mappings in tables.mapping_table.items():
        for broker in mappings:
            if broker not in tables.group_table:
                orphans.setdefault(broker, []).append(topic)
    for broker, topics in orphans.items():
        for topic in topics:
            tables.drop_mapping(topic, broker)
    return [MappingsChanged(broker=broker, removed=tuple(topics)) for broker, topics in orphans.items()]
