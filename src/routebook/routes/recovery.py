"""Tables that come from a snapshot and a journal are made fit to serve: orphans go, leases begin."""

from collections.abc import Container

from routebook.effects import Change
from routebook.events import MappingsChanged, RouteEvent, TopicCause, TopicsChanged
from routebook.routes.state import Tables


def mend(tables: Tables) -> Change:
    """Drop queues of groups that are gone: a journal that ends in a crash may end between a broker and its topics."""
    names = {name for entry in tables.topic_table.values() for name in entry.queues}
    orphans = sorted(names - tables.group_table.keys())
    events: list[RouteEvent] = [
        TopicsChanged(broker=broker, cause=TopicCause.REMOVAL, removed=tuple(topics))
        for broker, topics in tables.drop_queues_of(orphans).items()
    ]
    for broker in orphans:
        mapped = [topic for topic, mappings in tables.mapping_table.items() if broker in mappings]
        for topic in mapped:
            tables.drop_mapping(topic, broker)
        if mapped:
            events.append(MappingsChanged(broker=broker, removed=tuple(mapped)))
    return tables.settle(events)


def begin_leases(tables: Tables, now_ms: int, *, most_ms: int, doubted: Container[str] | None = ()) -> int:
    """Everybody has its own timeout to come back, `most_ms` at most; how many there are.

    `doubted` are groups whose last words may be lost, None is all of them: what they announce next counts in any case.
    """
    for lease in tables.lease_table.values():
        lease.last_update_ms = now_ms - lease.timeout_ms + min(lease.timeout_ms, most_ms)
        if doubted is None or any(broker in doubted for broker in lease.seats):
            lease.doubtful = True
    return len(tables.lease_table)
