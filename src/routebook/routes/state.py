"""The route tables, and the operations on single cells that keep them consistent with each other.

    topic_table    topic → its queues by broker              Java: topicQueueTable
    group_table    broker name → members by id, flags        Java: brokerAddrTable
    cluster_table  cluster → names of its broker groups      Java: clusterAddrTable
    lease_table    (cluster, address) → heartbeat, timeout   Java: brokerLiveTable, filterServerTable
    mapping_table  topic → static mapping by broker          Java: topicQueueMappingInfoTable

Invariants: each member of a group has exactly one membership on one lease, and vice versa; no group and no lease is
empty; a cluster lists exactly the groups that have a member in it; queues belong to groups that exist.
"""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple, TypeAlias

import msgspec

from routebook.effects import Change, RouteEffect
from routebook.events import Queues, RouteEvent
from routebook.model import (
    BrokerData,
    BrokerKey,
    DataVersion,
    QueueData,
    TopicQueueMappingInfo,
)

Shape: TypeAlias = tuple[int, int, int, int]  # the fields of Queues

_MAX_SHAPES: Final = 4096  # per group: bounds the memory that an unusual broker can use


def shape_of(queue: QueueData) -> Queues:
    """The queues without the name of their broker."""
    return Queues(queue.perm, queue.read_queue_nums, queue.write_queue_nums, queue.topic_sys_flag)


class TopicEntry(msgspec.Struct, gc=False, eq=False):
    """A topic's queues by broker. Without `gc`, a full collection does not visit every topic and every queue."""

    queues: dict[str, QueueData] = msgspec.field(default_factory=dict)
    revision: int = 0


class BrokerGroup:
    """The brokers that share a name: a master and its slaves.

    `revision` is that of the last change of anything about the group, `queues_revision` of its queues,
    `route_revision` of itself as routes show it.
    """

    __slots__ = (
        "_data",
        "_data_revision",
        "cluster",
        "enable_acting_master",
        "members",
        "name",
        "queues_revision",
        "revision",
        "route_revision",
        "shapes",
        "topics",
        "zone",
    )

    def __init__(self, name: str, cluster: str) -> None:
        self.name = name
        self.cluster = cluster
        self.enable_acting_master = False
        self.zone: str | None = None
        self.members: dict[int, BrokerKey] = {}  # ascending by id
        self.shapes: dict[Shape, QueueData] = {}
        self.topics = 0  # number of topics with queues on the group
        self.revision = 0
        self.route_revision = 0
        self.queues_revision = 0
        self._data: BrokerData | None = None
        self._data_revision = -1

    @property
    def data(self) -> BrokerData:
        """The group as routes show it; read-only. Built once per change and shared by the routes of all its topics."""
        data = self._data
        if (
            data is None
            or self._data_revision != self.route_revision
            or data.cluster != self.cluster
            or data.enable_acting_master != self.enable_acting_master
            or data.zone_name != self.zone
        ):
            data = self._data = self.data_with(self.addrs)
            self._data_revision = self.route_revision
        return data

    def data_with(self, addrs: dict[int, str]) -> BrokerData:
        """The group as routes show it, with other addresses."""
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
    def min_id(self) -> int:
        return next(iter(self.members))

    def member_at(self, addr: str) -> BrokerKey | None:
        """The member at this address, in any cluster."""
        return next((key for key in self.members.values() if key.addr == addr), None)

    def queue(self, shape: Shape) -> QueueData:
        """The shared instance for this shape: thousands of topics use a handful of them."""
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


class Membership(NamedTuple):
    """A lease's member of one group, and the connection that registered it.

    The connection is None if the broker was recovered after a restart, or lost its connection while expiry protection
    kept it: it is expected to register again.
    """

    broker_id: int
    connection: int | None


class Lease:
    """The lease of one address. Java: BrokerLiveInfo.

    Usually with one membership. The key is cluster and address, as in Java, so two brokers that register from one
    address under different names share a lease.
    """

    __slots__ = (
        "data_version",
        "filter_servers",
        "ha_addr",
        "host",
        "identity",
        "is_uncertain",
        "last_update_ms",
        "memberships",
        "timeout_ms",
        "version",
    )

    def __init__(self) -> None:
        self.memberships: dict[str, Membership] = {}
        self.is_uncertain = (
            False  # recovered from a journal with a gap: its next announcement counts, whatever its version
        )
        self.last_update_ms = 0
        self.timeout_ms = 0
        self.data_version: DataVersion | None = None
        self.ha_addr: str | None = None
        self.filter_servers: tuple[str, ...] = ()
        self.host = ""  # that it registers from; not kept over a restart
        self.identity: str | None = None  # authenticated; not kept over a restart
        self.version = 0  # RocketMQ version in the last registration; not kept over a restart


class Tables:
    """All tables. A change stamps what it modifies with the next revision; `settle` makes that the current one."""

    __slots__ = (
        "cluster_table",
        "group_table",
        "groups_route_revision",
        "lease_table",
        "mapping_table",
        "memberless",
        "registered_over",
        "revision",
        "topic_table",
    )

    def __init__(self) -> None:
        self.topic_table: dict[str, TopicEntry] = {}
        self.group_table: dict[str, BrokerGroup] = {}
        self.cluster_table: dict[str, dict[str, None]] = {}  # inner dict: an ordered set
        self.lease_table: dict[BrokerKey, Lease] = {}
        self.mapping_table: dict[str, dict[str, TopicQueueMappingInfo]] = {}
        # all brokers that an open connection has registered, including those that a newer connection took over
        self.registered_over: dict[int, dict[tuple[BrokerKey, str], None]] = {}
        self.revision = 0
        self.groups_route_revision = 0  # of the last change of any group that routes contain
        # number of topics of a group without members, while it is being replaced or removed
        self.memberless: dict[str, int] = {}

    def settle(self, events: Iterable[RouteEvent], effects: Iterable[RouteEffect] = ()) -> Change:
        """End a change: advances the revision if there are events."""
        change = Change(tuple(events), tuple(effects))
        if change.events:
            self.revision += 1
        return change

    def touch(self, group: BrokerGroup, *, in_routes: bool) -> None:
        """Stamp a group that changed; `in_routes` if routes show the change."""
        group.revision = self.revision + 1
        if in_routes:
            group.route_revision = self.groups_route_revision = self.revision + 1

    def add_member(self, key: BrokerKey, *, broker: str, broker_id: int, connection: int | None) -> Lease:
        """Make the address a member of the group under this id; a previous holder of the id must be removed before."""
        group = self.group_table.get(broker)
        if group is None:
            group = self.group_table[broker] = BrokerGroup(broker, key.cluster)
            group.topics = self.memberless.pop(broker, 0)
        lease = self.lease_table.get(key)
        if lease is None:
            lease = self.lease_table[key] = Lease()
        membership = lease.memberships.get(broker)
        if membership is None or membership.broker_id != broker_id:
            if membership is not None:
                del group.members[membership.broker_id]
            group.members[broker_id] = key
            group.members = dict(sorted(group.members.items()))
            self.touch(group, in_routes=True)
        lease.memberships[broker] = Membership(broker_id, connection)
        self.cluster_table.setdefault(key.cluster, {})[broker] = None
        if connection is not None:
            self.registered_over.setdefault(connection, {})[key, broker] = None
        return lease

    def remove_member(self, key: BrokerKey, broker: str) -> None:
        """Remove a member from its group, with the last one the group, and with the last membership the lease."""
        lease = self.lease_table[key]
        group = self.group_table[broker]
        del group.members[lease.memberships.pop(broker).broker_id]
        if not lease.memberships:
            del self.lease_table[key]
        if not group.members:
            del self.group_table[broker]
            if group.topics:
                self.memberless[broker] = group.topics
        self.touch(group, in_routes=True)
        clusters = [member.cluster for member in group.members.values()]
        if key.cluster not in clusters:
            names = self.cluster_table[key.cluster]
            del names[broker]
            if not names:
                del self.cluster_table[key.cluster]
        if clusters and group.cluster not in clusters:
            # Java: a group keeps the name of its first cluster; here only while it has a member there
            group.cluster = clusters[0]

    def put_queue(self, topic: str, queue: QueueData) -> None:
        """Set a topic's queues on an existing broker."""
        entry = self.topic_table.get(topic)
        if entry is None:
            entry = self.topic_table[topic] = TopicEntry()
        group = self.group_table[queue.broker_name]
        if group.name not in entry.queues:
            group.topics += 1
        entry.queues[group.name] = queue  # the group's own string: one object for all topics
        entry.revision = group.revision = group.queues_revision = self.revision + 1

    def drop_queue(self, topic: str, broker: str) -> None:
        """Remove a topic's queues on a broker, and the topic if it has no others."""
        entry = self.topic_table[topic]
        del entry.queues[broker]
        if not entry.queues:
            del self.topic_table[topic]
        entry.revision = self.revision + 1
        group = self.group_table.get(broker)
        if group is not None:
            group.topics -= 1
            group.queues_revision = self.revision + 1
            self.touch(group, in_routes=False)
        elif (left := self.memberless.pop(broker, 1) - 1) > 0:
            self.memberless[broker] = left

    def drop_queues_of(self, brokers: Collection[str]) -> dict[str, list[str]]:
        """Remove all queues of removed groups in one pass; returns the topics of each."""
        removed: dict[str, list[str]] = {broker: [] for broker in brokers}
        for broker in brokers:
            self.memberless.pop(broker, None)
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
        """Set the static mapping of a topic under a broker's name."""
        self.mapping_table.setdefault(topic, {})[broker] = info
        self._mapping_changed(topic, broker)

    def drop_mapping(self, topic: str, broker: str) -> None:
        """Remove the static mapping of a topic under a broker's name, if there is one."""
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
            self.touch(group, in_routes=False)
