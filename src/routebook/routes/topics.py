"""Operations on single topics: registration (217) and deletion (216)."""

from collections.abc import Sequence

from routebook.effects import Change
from routebook.events import RouteEvent, TopicCause, TopicDeleted
from routebook.model import QueueData
from routebook.routes.differences import QueueDifferences
from routebook.routes.state import Tables, shape_of


def register_topic(tables: Tables, topic: str, queue_datas: Sequence[QueueData]) -> Change:
    """Set the topic's queues on the named brokers, up to the first unknown one.

    Java: then nothing is stored for a new topic, and the entries before the unknown broker for an existing one.
    """
    known = list(queue_datas)
    for position, queue in enumerate(queue_datas):
        if queue.broker_name not in tables.group_table:
            known = known[:position] if topic in tables.topic_table else []
            break
    events: list[RouteEvent] = []
    for broker, queue in {queue.broker_name: queue for queue in known}.items():
        differences = QueueDifferences(tables, broker)
        differences.put(topic, shape_of(queue))
        events += differences.events(TopicCause.REGISTER_TOPIC)
    return tables.settle(events)


def delete_topic(tables: Tables, topic: str, *, cluster: str | None) -> Change:
    """Remove a topic and its static mappings from the brokers of one cluster, or from all. Java: keeps mappings (B5).

    A broker that still has the topic restores it with its next registration.
    """
    brokers = brokers_with(tables, topic)
    if cluster is not None:
        names = tables.cluster_table.get(cluster, {})
        brokers = [name for name in brokers if name in names]
    if not brokers:
        return Change()
    remove_topic(tables, topic, brokers)
    return tables.settle([TopicDeleted(topic=topic, cluster=cluster, brokers=tuple(brokers))])


def brokers_with(tables: Tables, topic: str) -> list[str]:
    """The brokers with queues or a static mapping of the topic."""
    entry = tables.topic_table.get(topic)
    names = dict.fromkeys(entry.queues if entry is not None else ())
    return list(names | dict.fromkeys(tables.mapping_table.get(topic, ())))


def remove_topic(tables: Tables, topic: str, brokers: Sequence[str]) -> None:
    """Remove the queues and mappings of a topic on these brokers."""
    for broker in brokers:
        entry = tables.topic_table.get(topic)
        if entry is not None and broker in entry.queues:
            tables.drop_queue(topic, broker)
        tables.drop_mapping(topic, broker)
