"""Filters records by kind, broker and topic. Pure."""

from collections.abc import Iterator

import msgspec

from routebook.controller_events import BrokerSetState
from routebook.events import Event, MappingsChanged, PeerDiverged, PreservationEntered, TopicDeleted, TopicsChanged
from routebook.journal.record import Record, UnknownEvent


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """A filter: every non-empty set must match. Brokers are given by name or address."""

    kinds: frozenset[str] = frozenset()
    brokers: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()

    def fits(self, record: Record) -> bool:
        return (
            (not self.kinds or record.kind in self.kinds)
            and (not self.brokers or not self.brokers.isdisjoint(brokers_of(record.event)))
            and (not self.topics or not self.topics.isdisjoint(topics_of(record.event)))
        )


def brokers_of(event: Event | UnknownEvent) -> Iterator[str]:
    """Yield the names and addresses of the brokers an event refers to."""
    yield from _texts(event, "broker", "addr", "before_addr")
    if isinstance(event, TopicDeleted | PeerDiverged):
        yield from event.brokers
    elif isinstance(event, PreservationEntered):
        yield from event.addrs
    elif isinstance(event, BrokerSetState):
        yield from event.replicas.values()


def topics_of(event: Event | UnknownEvent) -> Iterator[str]:
    """Yield the topics an event refers to."""
    yield from _texts(event, "topic")
    match event:
        case TopicsChanged():
            yield from event.added
            yield from event.changed
            yield from event.removed
        case MappingsChanged():
            yield from event.mappings
            yield from event.removed
        case PeerDiverged():
            yield from event.topics


def _texts(event: Event | UnknownEvent, *names: str) -> Iterator[str]:
    for name in names:
        value = event.fields.get(name) if isinstance(event, UnknownEvent) else getattr(event, name, None)
        if isinstance(value, str):
            yield value
