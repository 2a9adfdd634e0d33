"""A naive replay of journal events into plain dicts, independent of the code of the route tables."""

from typing import Any

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.events import (
    BrokerChanged,
    BrokerDown,
    BrokerUp,
    Event,
    MappingsChanged,
    PermissionRestored,
    PermissionWiped,
    ServerStarted,
    TopicDeleted,
    TopicsChanged,
)
from routebook.journal.files import Files
from routebook.journal.read.reader import Hole, Line, read
from routebook.journal.record import UnknownEvent
from routebook.routes.state import Tables, shape_of


class NaiveFold:
    """`members` by group and id, `topics` by name and group, the last state of each broker and group, `mappings`."""

    def __init__(self) -> None:
        self.members: dict[tuple[str, int], tuple[str, str]] = {}
        self.topics: dict[str, dict[str, tuple[int, ...]]] = {}
        self.said: dict[tuple[str, str], tuple[Any, ...]] = {}
        self.flags: dict[str, tuple[bool, str | None]] = {}
        self.clusters: dict[str, str] = {}
        self.mappings: dict[str, dict[str, Any]] = {}

    def tell(self, event: Event | UnknownEvent) -> None:
        match event:
            case ServerStarted(cold=True):
                self.__init__()  # type: ignore[misc]  # a cold start clears everything
            case BrokerUp() | BrokerChanged():
                key = (event.cluster, event.addr)
                self.members = {
                    seat: who for seat, who in self.members.items() if (seat[0], who) != (event.broker, key)
                }
                self.members[event.broker, event.broker_id] = key
                self.said[key] = (event.timeout_ms, event.data_version, event.ha_addr, event.filter_servers)
                self.flags[event.broker] = (event.acting_master, event.zone)
                self.clusters.setdefault(event.broker, event.cluster)
            case BrokerDown():
                key = (event.cluster, event.addr)
                self.members = {
                    seat: who for seat, who in self.members.items() if (seat[0], who) != (event.broker, key)
                }
                if key not in self.members.values():
                    self.said.pop(key, None)
                if not self.ids(event.broker):
                    self.flags.pop(event.broker, None)
                    self.clusters.pop(event.broker, None)
            case TopicsChanged():
                for topic in event.removed:
                    self.drop(topic, event.broker)
                for topic, shape in event.added.items():
                    self.topics.setdefault(topic, {})[event.broker] = tuple(shape)
                for topic, change in event.changed.items():
                    assert self.topics[topic][event.broker] == tuple(change.before)
                    self.topics[topic][event.broker] = tuple(change.after)
            case MappingsChanged():
                for topic, info in event.mappings.items():
                    self.mappings.setdefault(topic, {})[event.broker] = info
                for topic in event.removed:
                    self.unmap(topic, event.broker)
            case PermissionWiped():
                self.permit(event.broker, keep=~PERM_WRITE, add=0)
            case PermissionRestored():
                self.permit(event.broker, keep=0, add=PERM_READ | PERM_WRITE)
            case TopicDeleted():
                for broker in event.brokers:
                    self.drop(event.topic, broker)
                    self.unmap(event.topic, broker)
        for broker in self.clusters:
            clusters = [self.members[broker, broker_id][0] for broker_id in self.ids(broker)]
            if clusters and self.clusters[broker] not in clusters:
                self.clusters[broker] = clusters[0]

    def ids(self, broker: str) -> list[int]:
        return sorted(broker_id for name, broker_id in self.members if name == broker)

    def drop(self, topic: str, broker: str) -> None:
        self.topics.get(topic, {}).pop(broker, None)
        if topic in self.topics and not self.topics[topic]:
            del self.topics[topic]

    def unmap(self, topic: str, broker: str) -> None:
        self.mappings.get(topic, {}).pop(broker, None)
        if topic in self.mappings and not self.mappings[topic]:
            del self.mappings[topic]

    def permit(self, broker: str, *, keep: int, add: int) -> None:
        for queues in self.topics.values():
            if broker in queues:
                perm, *rest = queues[broker]
                queues[broker] = (perm & keep | add, *rest)

    def without_orphans(self) -> "NaiveFold":
        """A journal can end between the removal of a broker and of its topics: remove these too."""
        alive = {broker for broker, _ in self.members}
        orphans = {broker for queues in self.topics.values() for broker in queues} - alive
        for topic in list(self.topics):
            for broker in orphans & set(self.topics[topic]):
                self.drop(topic, broker)
        for topic in list(self.mappings):
            for broker in orphans & set(self.mappings[topic]):
                self.unmap(topic, broker)
        return self

    def plain(self) -> dict[str, Any]:
        return {
            "topics": self.topics,
            "groups": {
                broker: (self.clusters[broker], *self.flags[broker], self.addrs(broker)) for broker in self.flags
            },
            "said": self.said,
            "mappings": self.mappings,
        }

    def addrs(self, broker: str) -> dict[int, tuple[str, str]]:
        return {broker_id: self.members[broker, broker_id] for broker_id in self.ids(broker)}


def plain(tables: Tables) -> dict[str, Any]:
    """The same from a real route table."""
    return {
        "topics": {
            topic: {broker: tuple(shape_of(queue)) for broker, queue in entry.queues.items()}
            for topic, entry in tables.topic_table.items()
        },
        "groups": {
            name: (
                group.cluster,
                group.enable_acting_master,
                group.zone,
                {broker_id: tuple(key) for broker_id, key in group.members.items()},
            )
            for name, group in tables.group_table.items()
        },
        "said": {
            tuple(key): (lease.timeout_ms, lease.data_version, lease.ha_addr, lease.filter_servers)
            for key, lease in tables.lease_table.items()
        },
        "mappings": {topic: dict(infos) for topic, infos in tables.mapping_table.items()},
    }


def fold_journal(files: Files) -> tuple[NaiveFold, list[int], list[Hole]]:
    """Replay from the first record; also the sequence numbers that exist and those that are missing."""
    fold, numbers, holes = NaiveFold(), [], []
    for item in read(files, from_seq=1):
        if isinstance(item, Line):
            fold.tell(item.record.event)
            numbers.append(item.record.seq)
        else:
            assert isinstance(item, Hole), item
            holes.append(item)
    return fold, numbers, holes
