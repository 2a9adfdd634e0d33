"""The tables from their events: what happened is done again, and nothing is decided."""

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.events import (
    BrokerChanged,
    BrokerDown,
    BrokerUp,
    MappingsChanged,
    PermissionRestored,
    PermissionWiped,
    RouteEvent,
    TopicDeleted,
    TopicsChanged,
)
from routebook.model import BrokerKey, QueueData
from routebook.routes.permissions import set_permissions
from routebook.routes.seating import write_down
from routebook.routes.state import Tables
from routebook.routes.topics import forget


def apply(tables: Tables, event: RouteEvent, *, now_ms: int) -> None:
    """Do again what an event tells of. Leases begin at `now_ms` and hang on no connection until one registers."""
    match event:
        case BrokerUp() | BrokerChanged():
            key = BrokerKey(event.cluster, event.addr)
            lease = tables.seat(key, broker=event.broker, broker_id=event.broker_id, connection=None)
            write_down(tables, lease, event)
            lease.last_update_ms = now_ms
        case BrokerDown():
            tables.unseat(BrokerKey(event.cluster, event.addr), event.broker)
        case TopicsChanged():
            _change_topics(tables, event)
        case MappingsChanged():
            for topic, info in event.mappings.items():
                tables.put_mapping(topic, broker=event.broker, info=info)
            for topic in event.removed:
                tables.drop_mapping(topic, event.broker)
        case PermissionWiped():
            set_permissions(tables, event.broker, keep=~PERM_WRITE, add=0)
        case PermissionRestored():
            set_permissions(tables, event.broker, keep=0, add=PERM_READ | PERM_WRITE)
        case TopicDeleted():
            forget(tables, event.topic, event.brokers)
    tables.settle([event])


def _change_topics(tables: Tables, event: TopicsChanged) -> None:
    for topic in event.removed:
        tables.drop_queue(topic, event.broker)
    for topic, queue in event.added.items():
        tables.put_queue(topic, _shared(tables, queue))
    for topic, change in event.changed.items():
        tables.put_queue(topic, _shared(tables, change.after))


def _shared(tables: Tables, queue: QueueData) -> QueueData:
    group = tables.group_table[queue.broker_name]
    return group.queue((queue.perm, queue.read_queue_nums, queue.write_queue_nums, queue.topic_sys_flag))
