"""Checks of the topics: permissions, placement, order configuration."""

from collections.abc import Iterable, Mapping
from typing import Final

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.doctor.observation import Finding, Observation, counted, error, listed, note, warning
from routebook.doctor.observation import entries as entries_of
from routebook.doctor.observation import groups as groups_of
from routebook.model import BrokerData

SYSTEM_TOPICS: Final = frozenset(
    {
        "BenchmarkTest",
        "CHECKPOINT_TOPIC",
        "DefaultHeartBeatSyncerTopic",
        "OFFSET_MOVED_EVENT",
        "SCHEDULE_TOPIC_XXXX",
        "SELF_TEST_TOPIC",
        "TBW102",
        "TRANS_CHECK_MAX_TIME_TOPIC",
    }
)
SYSTEM_PREFIXES: Final = ("rmq_sys_", "RMQ_SYS_", "%RETRY%", "%DLQ%")


def permissions(observed: Observation) -> Iterable[Finding]:
    entries = entries_of(observed)
    groups = groups_of(observed)
    by_broker: dict[str, list[int]] = {}
    for table in entries.values():
        for broker, data in table.items():
            by_broker.setdefault(broker, []).append(data.perm)
    wiped = {broker for broker, perms in by_broker.items() if not any(perm & PERM_WRITE for perm in perms)}
    for broker in sorted(wiped & set(groups)):
        yield warning(
            "permission",
            f"no topic of broker {broker} is writable: its write permission was removed",
            f"If its maintenance is complete: routebook broker restore {broker}",
        )
    closed = sorted(
        topic
        for topic, table in entries.items()
        if not any(data.perm & PERM_WRITE for data in table.values())
        and not set(table) <= wiped
        and any(data.perm & PERM_READ for data in table.values())
    )
    if closed:
        yield note(
            "permission",
            f"{counted(closed, 'topic')} can be read but not written: {listed(closed)}",
            "If this is not intended: mqadmin updateTopicPerm.",
        )


def placement(observed: Observation) -> Iterable[Finding]:
    groups = groups_of(observed)
    sizes: dict[str, int] = {}
    for data in groups.values():
        sizes[data.cluster] = sizes.get(data.cluster, 0) + 1
    alone: dict[str, list[str]] = {}
    for topic, table in entries_of(observed).items():
        if len(table) == 1 and not is_system_topic(topic, groups):
            alone.setdefault(next(iter(table)), []).append(topic)
    for broker, topics in sorted(alone.items()):
        several = broker in groups and sizes[groups[broker].cluster] > 1
        yield (warning if several else note)(
            "placement",
            f"{counted(topics, 'topic')} only on broker {broker}: {listed(sorted(topics))}",
            "If it stops, clients cannot publish to them: add brokers with mqadmin updateTopic."
            if several
            else "Its cluster has no other broker: if it stops, clients cannot publish.",
        )


def orders(observed: Observation) -> Iterable[Finding]:
    for topic, why in sorted(observed.unusable_orders.items()):
        yield error(
            "order",
            why,
            f"routebook topic order {topic} BROKER:QUEUES;… corrects it, --delete removes it.",
        )


def is_system_topic(topic: str, groups: Mapping[str, BrokerData]) -> bool:
    """Whether RocketMQ created the topic itself, as it does for each broker and cluster, too."""
    clusters = {data.cluster for data in groups.values()}
    own = topic in groups or topic in clusters or topic.removesuffix("_REPLY_TOPIC") in clusters
    return own or topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIXES)
