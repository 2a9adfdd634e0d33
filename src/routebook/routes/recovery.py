"""Prepares tables recovered from a snapshot and a journal for service: removes orphans, starts leases."""

from collections.abc import Container

from routebook.effects import Change
from routebook.events import MappingsChanged, RouteEvent, TopicCause, TopicsChanged
from routebook.routes.state import Tables


def remove_orphans(tables: Tables) -> Change:
    """Remove queues without a group: a journal that ends in a crash may end between a broker and its topics."""
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


def begin_leases(tables: Tables, now_ms: int, *, max_ms: int, uncertain: Container[str] | None = ()) -> int:
    """Give each broker its own timeout, at most `max_ms`, to register again; returns their number.

    `uncertain` are groups whose last events may be lost, None for all: their next announcement counts in any case.
    """
    for lease in tables.lease_table.values():
        lease.last_update_ms = now_ms - lease.timeout_ms + min(lease.timeout_ms, max_ms)
        if uncertain is None or any(broker in uncertain for broker in lease.memberships):
            lease.is_uncertain = True
    return len(tables.lease_table)
