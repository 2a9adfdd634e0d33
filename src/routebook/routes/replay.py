"""The tables from their events: what happened is done again, and nothing is decided."""

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.events import (
    BrokerChanged,
    BrokerDown,
    BrokerReturned,
    BrokerUp,
    MappingsChanged,
    PermissionRestored,
    PermissionWiped,
    RouteEvent,
    TopicDeleted,
    TopicsChanged,
)
from routebook.model import BrokerKey
from routebook.routes.permissions import set_permissions
from routebook.routes.seating import write_down
from routebook.routes.state import Tables
from routebook.routes.topics import forget


def apply(tables: Tables, event: RouteEvent, *, now_ms: int) -> bool:
    """Do again what an event tells of. Leases begin at `now_ms` and hang on no connection until one registers.

    False if it does not follow from what the tables hold, as may be after a hole in a journal: then as much of it is
    done as makes sense, and the tables are consistent all the same.
    """
    match event:
        case BrokerUp() | BrokerChanged():
            fits = _seat(tables, event, now_ms)
        case BrokerReturned():
            fits = _is_seated(tables, event)
        case BrokerDown():
            fits = _is_seated(tables, event)
            if fits:
                tables.unseat(BrokerKey(event.cluster, event.addr), event.broker)
        case TopicsChanged():
            fits = _change_topics(tables, event)
        case MappingsChanged():
            for topic, info in event.mappings.items():
                tables.put_mapping(topic, broker=event.broker, info=info)
            for topic in event.removed:
                tables.drop_mapping(topic, event.broker)
            fits = True
        case PermissionWiped() | PermissionRestored():
            fits = event.broker in tables.group_table
            if fits and isinstance(event, PermissionWiped):
                set_permissions(tables, event.broker, keep=~PERM_WRITE, add=0)
            elif fits:
                set_permissions(tables, event.broker, keep=0, add=PERM_READ | PERM_WRITE)
        case TopicDeleted():
            forget(tables, event.topic, event.brokers)
            fits = True
    tables.settle([event])
    return fits


def _is_seated(tables: Tables, event: BrokerChanged | BrokerDown | BrokerReturned) -> bool:
    lease = tables.lease_table.get(BrokerKey(event.cluster, event.addr))
    return lease is not None and event.broker in lease.seats


def _seat(tables: Tables, event: BrokerUp | BrokerChanged, now_ms: int) -> bool:
    key = BrokerKey(event.cluster, event.addr)
    group = tables.group_table.get(event.broker)
    fits = isinstance(event, BrokerUp) or _is_seated(tables, event)
    if group is not None:
        for other in {group.members.get(event.broker_id), group.member_at(event.addr)} - {None, key}:
            fits = False  # that it left is what the hole swallowed
            if other is not None:
                tables.unseat(other, event.broker)
    lease = tables.seat(key, broker=event.broker, broker_id=event.broker_id, connection=None)
    write_down(tables, lease, event)
    lease.last_update_ms = now_ms
    return fits


def _change_topics(tables: Tables, event: TopicsChanged) -> bool:
    broker, fits = event.broker, True
    for topic in event.removed:
        entry = tables.topic_table.get(topic)
        if entry is not None and broker in entry.queues:
            tables.drop_queue(topic, broker)
        else:
            fits = False
    if event.added or event.changed:
        group = tables.group_table.get(broker)
        if group is None:
            return False
        for topic, shape in event.added.items():
            tables.put_queue(topic, group.queue(shape))
        for topic, change in event.changed.items():
            tables.put_queue(topic, group.queue(change.after))
    return fits
