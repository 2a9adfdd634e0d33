"""What a master, or the slave that leads, announces with its registration: topics and static-topic mappings."""

from collections.abc import Collection, Iterable, Sequence

from routebook.codes import PERM_WRITE
from routebook.events import MappingsChanged, RouteEvent, TopicCause
from routebook.model import Registration, TopicConfig, TopicQueueMappingInfo, TopicRun
from routebook.routes.differences import QueueDifferences
from routebook.routes.state import Announced, BrokerGroup, Tables


def announce(
    tables: Tables, registration: Registration, *, everything: bool, read_only: bool, drop_others: bool
) -> list[RouteEvent]:
    """Upsert what is announced: everything, or where the version is old news only what is missing.

    Java: so queues that changed under the same version are not noticed (B12).
    """
    broker, topics = registration.broker, registration.body.topics or ()
    keep = ~PERM_WRITE if read_only else -1
    group = tables.group_table[broker]
    news = _news(group, registration, keep=keep)
    differences = QueueDifferences(tables, broker)
    dropped: list[MappingsChanged] = []
    if drop_others:
        announced = {config.topic_name for config in topics}
        others = [t for t, entry in tables.topic_table.items() if broker in entry.queues and t not in announced]
        for topic in others:
            differences.drop(topic)
        dropped = _drop_mappings(tables, broker, others)
    differences.put_all(_wanted(tables, registration, news, everything=everything), keep=keep)
    mapped = _put_mappings(tables, registration, returning=differences.added, everything=everything)
    if everything and registration.body.news is not None:
        group.announced = Announced(registration.body.runs, keep, group.queued)
    return [*differences.events(TopicCause.REGISTRATION), *dropped, *mapped]


def announced_before(tables: Tables, *, broker: str, cluster: str) -> tuple[TopicRun, ...]:
    """What the broker announced last, by its bytes; or another one of its cluster, which announces much the same."""
    group = tables.group_table.get(broker)
    if group is None or group.announced is None:
        latest = next(reversed(tables.cluster_table.get(cluster, {})), "")
        group = tables.group_table.get(latest)
    return () if group is None or group.announced is None else group.announced.runs


def _news(group: BrokerGroup, registration: Registration, *, keep: int) -> Sequence[TopicConfig]:
    """What is announced, without what stands in the tables from the last time: mostly all of it."""
    runs, last = registration.body.runs, group.announced
    if registration.body.news is None or last is None or last.queued != group.queued or last.keep != keep:
        return registration.body.topics or ()
    stay = set(map(id, last.runs)) & set(map(id, runs))
    known = {id(topic) for run in last.runs if id(run) not in stay for topic in run.topics}
    return [topic for run in runs if id(run) not in stay for topic in run.topics if id(topic) not in known]


def _wanted(
    tables: Tables, registration: Registration, topics: Sequence[TopicConfig], *, everything: bool
) -> Iterable[TopicConfig]:
    """Each topic once: of two with one name the last counts, or where only missing ones do, the first."""
    if everything:
        twice = registration.body.news is None  # or may be
        return {config.topic_name: config for config in topics}.values() if twice else topics
    wanted: dict[str, TopicConfig] = {}
    for config in topics:
        entry = tables.topic_table.get(config.topic_name)
        if entry is None or registration.broker not in entry.queues:
            wanted.setdefault(config.topic_name, config)
    return wanted.values()


def _put_mappings(
    tables: Tables, registration: Registration, *, returning: Collection[str], everything: bool
) -> list[MappingsChanged]:
    """A mapping went with its topic when that was deleted, so it returns with it. Java: mappings never go (B5)."""
    by_owner: dict[str, dict[str, TopicQueueMappingInfo]] = {}
    for topic, info in registration.body.mappings.items():
        # Java: a mapping stands under the name in it, even where that is not the broker's own
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
