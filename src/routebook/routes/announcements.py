"""Applies what a master, or the acting master, announces with its registration: topics and static-topic mappings."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from routebook.codes import PERM_WRITE
from routebook.events import MappingsChanged, RouteEvent, TopicCause
from routebook.model import Registration, TopicConfig, TopicQueueMappingInfo
from routebook.routes.differences import QueueDifferences
from routebook.routes.state import Tables


class Announcement(NamedTuple):
    """The state of a group's queues after all topics of a registration were applied.

    As long as it is the same, the tables hold exactly what was announced, and a later registration may pass only the
    topics that differ from it (`Delta`).
    """

    perm_mask: int
    queues_revision: int


class Delta(NamedTuple):
    """The topics of a registration that differ from an earlier one of the same group."""

    topics: Sequence[TopicConfig]
    since: Announcement


def announce(
    tables: Tables,
    registration: Registration,
    *,
    delta: Delta | None,
    everything: bool,
    read_only: bool,
    drop_others: bool,
) -> tuple[list[RouteEvent], Announcement | None]:
    """Upsert everything that is announced, or only what is missing if the broker's version is not new.

    Java: so queues that changed under the same version are not noticed (B12).
    """
    broker, topics = registration.broker, registration.body.topics or ()
    perm_mask = ~PERM_WRITE if read_only else -1
    group = tables.group_table[broker]
    if delta is not None and delta.since != Announcement(perm_mask, group.queues_revision):
        delta = None
    differences = QueueDifferences(tables, broker)
    dropped: list[MappingsChanged] = []
    if drop_others:
        announced = {config.topic_name for config in topics}
        others = [t for t, entry in tables.topic_table.items() if broker in entry.queues and t not in announced]
        for topic in others:
            differences.drop(topic)
        dropped = _drop_mappings(tables, broker, others)
    if not everything:
        wanted = _missing(tables, broker, topics if delta is None else delta.topics)
    elif delta is not None:
        wanted = delta.topics
    elif registration.body.has_unique_names:
        wanted = topics
    else:
        wanted = {config.topic_name: config for config in topics}.values()  # of two with one name the last counts
    differences.put_all(wanted, perm_mask=perm_mask)
    mapped = _put_mappings(tables, registration, returning=differences.added, everything=everything)
    events: list[RouteEvent] = [*differences.events(TopicCause.REGISTRATION), *dropped, *mapped]
    return events, Announcement(perm_mask, group.queues_revision) if everything else None


def _missing(tables: Tables, broker: str, topics: Sequence[TopicConfig]) -> Iterable[TopicConfig]:
    """The topics without queues on the broker; of two with one name the first counts."""
    missing: dict[str, TopicConfig] = {}
    for config in topics:
        entry = tables.topic_table.get(config.topic_name)
        if entry is None or broker not in entry.queues:
            missing.setdefault(config.topic_name, config)
    return missing.values()


def _put_mappings(
    tables: Tables, registration: Registration, *, returning: Collection[str], everything: bool
) -> list[MappingsChanged]:
    """A mapping is deleted with its topic, so it is restored with it. Java: mappings are never deleted (B5)."""
    by_owner: dict[str, dict[str, TopicQueueMappingInfo]] = {}
    for topic, info in registration.body.mappings.items():
        # Java: a mapping is stored under the name in it, even if that is another broker's
        owner = registration.broker if info.bname is None else info.bname
        stored = tables.mapping_table.get(topic, {}).get(owner)
        if stored != info and (everything or (stored is None and topic in returning)):
            tables.put_mapping(topic, broker=owner, info=info)
            by_owner.setdefault(owner, {})[topic] = info
    return [MappingsChanged(broker=owner, mappings=mappings) for owner, mappings in by_owner.items()]


def _drop_mappings(tables: Tables, broker: str, topics: list[str]) -> list[MappingsChanged]:
    mapped = [topic for topic in topics if broker in tables.mapping_table.get(topic, ())]
    for topic in mapped:
        tables.drop_mapping(topic, broker)
    return [MappingsChanged(broker=broker, removed=tuple(mapped))] if mapped else []
