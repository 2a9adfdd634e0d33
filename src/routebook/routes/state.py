"""The tables themselves, and the few ways to change one cell of them that keep all of them consistent.

    topic_table    topic → its queues by broker              Java: topicQueueTable
    group_table    broker name → members by id, flags        Java: brokerAddrTable
    cluster_table  cluster → names of its broker groups      Java: clusterAddrTable
    lease_table    (cluster, address) → how it is kept alive Java: brokerLiveTable, filterServerTable
    mapping_table  topic → static mapping by broker          Java: topicQueueMappingInfoTable

What always holds: a member of a group sits on exactly one lease and each seat of a lease is one member; no group and no
lease is empty; a cluster lists exactly the groups that have a member in it; queues belong to groups that exist.
"""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple, TypeAlias

from routebook.effects import Change, RouteEffect
from routebook.events import Queues, RouteEvent
from routebook.model import (
    BrokerData,
    BrokerKey,
    DataVersion,
    QueueData,
    TopicQueueMappingInfo,
)

Shape: TypeAlias = tuple[int, int, int, int]  # what Queues names

_MAX_SHAPES: Final = 4096  # per group; beyond it sharing starts anew, so that odd brokers cannot hoard memory


def shape_of(queue: QueueData) -> Queues:
    """What of it may be the same on another broker."""
    return Queues(queue.perm, queue.read_queue_nums, queue.write_queue_nums, queue.topic_sys_flag)


class TopicEntry:
    """A topic's queues by broker."""

    __slots__ = ("queues", "revision")

    def __init__(self) -> None:
        self.queues: dict[str, QueueData] = {}
        self.revision = 0


class BrokerGroup:
    """The brokers of one name.

    `revision` is that of the last change of itself that a route shows, `queued` of its queues, `touched` of anything.
    """

    __slots__ = (
        "_data",
        "_data_revision",
        "cluster",
        "enable_acting_master",
        "members",
        "name",
        "queued",
        "revision",
        "shapes",
        "topics",
        "touched",
        "zone",
    )

    def __init__(self, name: str, cluster: str) -> None:
        self.name = name
        self.cluster = cluster
        self.enable_acting_master = False
        self.zone: str | None = None
        self.members: dict[int, BrokerKey] = {}  # ascending by id
        self.shapes: dict[Shape, QueueData] = {}
        self.topics = 0  # how many have queues here
        self.revision = 0
        self.touched = 0
        self.queued = 0
        self._data: BrokerData | None = None
        self._data_revision = -1

    @property
    def data(self) -> BrokerData:
        """The group as routes show it, to be read only. Made once per change: the routes of all its topics have it."""
        data = self._data
        if (
            data is None
            or self._data_revision != self.revision
            or data.cluster != self.cluster
            or data.enable_acting_master != self.enable_acting_master
            or data.zone_name != self.zone
        ):
            data = self._data = self.data_with(self.addrs)
            self._data_revision = self.revision
        return data

    def data_with(self, addrs: dict[int, str]) -> BrokerData:
        """The same with other addresses."""
        return BrokerData(
            broker_addrs=addrs,
            broker_name=self.name,
            cluster=self.cluster,
            enable_acting_master=self.enable_acting_master,
            zone_name=self.zone,
        )

    @property
    def addrs(self) -> dict[int, str]:
        """Addresses by id, ascending."""
        return {broker_id: key.addr for broker_id, key in self.members.items()}

    @property
    def least_id(self) -> int:
        return next(iter(self.members))

    def member_at(self, addr: str) -> BrokerKey | None:
        """Who of the group lives at this address, whichever its cluster."""
        return next((key for key in self.members.values() if key.addr == addr), None)

    def queue(self, shape: Shape) -> QueueData:
        """The one instance for this shape: thousands of topics share a handful of them."""
        queue = self.shapes.get(shape)
        if queue is None:
            perm, read, write, flag = shape
            queue = QueueData(
                broker_name=self.name, perm=perm, read_queue_nums=read, topic_sys_flag=flag, write_queue_nums=write
            )
            if len(self.shapes) >= _MAX_SHAPES:
                self.shapes.clear()
            self.shapes[shape] = queue
        return queue


class Seat(NamedTuple):
    """One member of a group on a lease, and the connection that registered it.

    None: it is known from before a restart, or its connection went while routes were preserved. It is to return.
    """

    broker_id: int
    connection: int | None


class Lease:
    """What keeps an address alive. Java: BrokerLiveInfo.

    Mostly one seat. Java keys by cluster and address alone, so two names that register from one address share a lease.
    """

    __slots__ = (
        "data_version",
        "doubtful",
        "filter_servers",
        "ha_addr",
        "last_update_ms",
        "seats",
        "timeout_ms",
        "version",
    )

    def __init__(self) -> None:
        self.seats: dict[str, Seat] = {}
        self.doubtful = False  # recovered from a journal with a hole: what it announces next counts, new version or not
        self.last_update_ms = 0
        self.timeout_ms = 0
        self.data_version: DataVersion | None = None
        self.ha_addr: str | None = None
        self.filter_servers: tuple[str, ...] = ()
        self.version = 0  # RocketMQ's, as the broker's last registration said; not remembered over a restart


class Tables:
    """All tables. Changes stamp what they touch with the revision that `settle` then makes the current one."""

    __slots__ = (
        "cluster_table",
        "group_table",
        "lease_table",
        "mapping_table",
        "registered_over",
        "revision",
        "shown",
        "topic_table",
    )

    def __init__(self) -> None:
        self.topic_table: dict[str, TopicEntry] = {}
        self.group_table: dict[str, BrokerGroup] = {}
        self.cluster_table: dict[str, dict[str, None]] = {}  # the inner one is a set that keeps its order
        self.lease_table: dict[BrokerKey, Lease] = {}
        self.mapping_table: dict[str, dict[str, TopicQueueMappingInfo]] = {}
        # every broker that a living connection has ever registered, its own or taken over by a newer connection since
        self.registered_over: dict[int, dict[tuple[BrokerKey, str], None]] = {}
        self.revision = 0
        self.shown = 0  # the revision of the last change of any group that routes show

    def settle(self, events: Iterable[RouteEvent], effects: Iterable[RouteEffect] = ()) -> Change:
        """End a change: one more revision, if anything happened."""
        change = Change(tuple(events), tuple(effects))
        if change.events:
            self.revision += 1
        return change

    def touch(self, group: BrokerGroup, *, shown: bool) -> None:
        """Something about the group changed; `shown` if routes show it."""
        group.touched = self.revision + 1
        if shown:
            group.revision = self.shown = self.revision + 1

    def seat(self, key: BrokerKey, *, broker: str, broker_id: int, connection: int | None) -> Lease:
        """Make the address a member of the group under this id; whoever had the id must have been unseated before."""
        group = self.group_table.get(broker)
        if group is None:
            group = self.group_table[broker] = BrokerGroup(broker, key.cluster)
        lease = self.lease_table.get(key)
        if lease is None:
            lease = self.lease_table[key] = Lease()
        seat = lease.seats.get(broker)
        if seat is None or seat.broker_id != broker_id:
            if seat is not None:
                del group.members[seat.broker_id]
            group.members[broker_id] = key
            group.members = dict(sorted(group.members.items()))
            self.touch(group, shown=True)
        lease.seats[broker] = Seat(broker_id, connection)
        self.cluster_table.setdefault(key.cluster, {})[broker] = None
        if connection is not None:
            self.registered_over.setdefault(connection, {})[key, broker] = None
        return lease

    def unseat(self, key: BrokerKey, broker: str) -> None:
        """Take a member out of its group; the last one takes the group with it, the last seat the lease."""
        lease = self.lease_table[key]
        group = self.group_table[broker]
        del group.members[lease.seats.pop(broker).broker_id]
        if not lease.seats:
            del self.lease_table[key]
        if not group.members:
            del self.group_table[broker]
        self.touch(group, shown=True)
        clusters = [member.cluster for member in group.members.values()]
        if key.cluster not in clusters:
            names = self.cluster_table[key.cluster]
            del names[broker]
            if not names:
                del self.cluster_table[key.cluster]
        if clusters and group.cluster not in clusters:
            # Java: a group bears the name of its first cluster for ever; here, while it still has a member there
            group.cluster = clusters[0]

    def put_queue(self, topic: str, queue: QueueData) -> None:
        """Set a topic's queues on a broker that exists."""
        entry = self.topic_table.get(topic)
        if entry is None:
            entry = self.topic_table[topic] = TopicEntry()
        group = self.group_table[queue.broker_name]
        if group.name not in entry.queues:
            group.topics += 1
        entry.queues[group.name] = queue  # the group's own string: one object for all topics
        entry.revision = group.touched = group.queued = self.revision + 1

    def drop_queue(self, topic: str, broker: str) -> None:
        """Remove a topic's queues on a broker, and the topic with its last ones."""
        entry = self.topic_table[topic]
        del entry.queues[broker]
        if not entry.queues:
            del self.topic_table[topic]
        entry.revision = self.revision + 1
        group = self.group_table.get(broker)
        if group is not None:
            group.topics -= 1
            group.queued = self.revision + 1
            self.touch(group, shown=False)

    def drop_queues_of(self, brokers: Collection[str]) -> dict[str, list[str]]:
        """Remove all queues of groups that are gone, in one pass; the topics of each."""
        removed: dict[str, list[str]] = {broker: [] for broker in brokers}
        for topic, entry in list(self.topic_table.items()):
            gone = removed.keys() & entry.queues.keys()
            if not gone:
                continue
            for broker in gone:
                del entry.queues[broker]
                removed[broker].append(topic)
            entry.revision = self.revision + 1
            if not entry.queues:
                del self.topic_table[topic]
        return removed

    def put_mapping(self, topic: str, *, broker: str, info: TopicQueueMappingInfo) -> None:
        """Set the static mapping that is announced under a broker's name."""
        self.mapping_table.setdefault(topic, {})[broker] = info
        self._mapping_changed(topic, broker)

    def drop_mapping(self, topic: str, broker: str) -> None:
        """Remove the static mapping under a broker's name, if there is one."""
        mappings = self.mapping_table.get(topic, {})
        if mappings.pop(broker, None) is not None:
            self._mapping_changed(topic, broker)
            if not mappings:
                del self.mapping_table[topic]

    def _mapping_changed(self, topic: str, broker: str) -> None:
        entry = self.topic_table.get(topic)
        if entry is not None:
            entry.revision = self.revision + 1
        group = self.group_table.get(broker)
        if group is not None:
            self.touch(group, shown=False)
