"""Rebuilds the tables from events; makes no decisions."""

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
from routebook.routes.membership import apply_state
from routebook.routes.permissions import set_permissions
from routebook.routes.state import Tables
from routebook.routes.topics import remove_topic


def apply(tables: Tables, event: RouteEvent, *, now_ms: int) -> bool:
    """Apply an event. Leases start at `now_ms`, without a connection until the broker registers.

    Returns False if the event does not follow from the tables, as after a gap in a journal: then it is applied as far
    as possible, and the tables stay consistent.
    """
    match event:
        case BrokerUp() | BrokerChanged():
            fits = _add_member(tables, event, now_ms)
        case BrokerReturned():
            fits = _is_member(tables, event)
        case BrokerDown():
            fits = _is_member(tables, event)
            if fits:
                tables.remove_member(BrokerKey(event.cluster, event.addr), event.broker)
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
            remove_topic(tables, event.topic, event.brokers)
            fits = True
    tables.settle([event])
    return fits


def _is_member(tables: Tables, event: BrokerChanged | BrokerDown | BrokerReturned) -> bool:
    lease = tables.lease_table.get(BrokerKey(event.cluster, event.addr))
    return lease is not None and event.broker in lease.memberships


def _add_member(tables: Tables, event: BrokerUp | BrokerChanged, now_ms: int) -> bool:
    key = BrokerKey(event.cluster, event.addr)
    group = tables.group_table.get(event.broker)
    fits = isinstance(event, BrokerUp) or _is_member(tables, event)
    if group is not None:
        for other in {group.members.get(event.broker_id), group.member_at(event.addr)} - {None, key}:
            fits = False  # the event that it left is missing
            if other is not None:
                tables.remove_member(other, event.broker)
    lease = tables.add_member(key, broker=event.broker, broker_id=event.broker_id, connection=None)
    apply_state(tables, lease, event)
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
