"""A compact image of the tables for snapshots: what many topics have in common is stored once.

    topics ─► layouts ─► queues ─► groups        each arrow is an index: which queues, of which shape, on which group

It is captured in short steps, between which the tables may change. Each topic has the revision of its last change:
topics that changed after they were copied are copied again, and the last step yields a consistent image.
"""

from collections import Counter
from typing import Final

import msgspec

from routebook.errors import SnapshotError
from routebook.model import BrokerKey, DataVersion, QueueData, TopicQueueMappingInfo
from routebook.routes.state import BrokerGroup, Tables, TopicEntry

_MAX_ROUNDS: Final = 8  # then the rest is copied in one step, even if the tables keep changing


class GroupImage(msgspec.Struct, frozen=True, array_like=True):
    """A broker group; its members as id, cluster, address."""

    name: str
    cluster: str
    acting_master: bool
    zone: str | None
    members: list[tuple[int, str, str]]


class LeaseImage(msgspec.Struct, frozen=True, array_like=True):
    """The lease of one address."""

    cluster: str
    addr: str
    timeout_ms: int
    data_version: DataVersion | None
    ha_addr: str | None
    filter_servers: tuple[str, ...]
    is_uncertain: bool = False


class QueueImage(msgspec.Struct, frozen=True, array_like=True):
    """One shape of queues on one group."""

    group: int
    perm: int
    read: int
    write: int
    flag: int


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """All content of the tables except connections and times."""

    groups: list[GroupImage]
    leases: list[LeaseImage]
    queues: list[QueueImage]
    layouts: list[list[int]]
    topics: list[str]
    layout_of: list[int]  # of each topic
    mappings: dict[str, dict[str, TopicQueueMappingInfo]]


class Capture:
    """Captures an image: call `step` until it returns one."""

    __slots__ = ("_copied", "_layouts", "_queues", "_revision", "_rounds", "_tables", "_waiting")

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._revision = tables.revision
        self._waiting = list(tables.topic_table)
        self._rounds = 0
        self._copied: dict[str, int] = {}  # topic → number of its layout
        self._layouts: dict[tuple[int, ...], int] = {}  # object ids of queues; `_queues` keeps them alive
        self._queues: dict[int, QueueData] = {}  # by id

    def step(self, *, max_queues: int) -> "Captured | None":
        """Copy the queues of some topics, about `max_queues` of them; returns the result after the last step."""
        left = self._copy(max_queues)
        if left <= 0 or self._waiting:
            return None
        # all topics are copied: copy again what has changed meanwhile
        self._rounds += 1
        tables = self._tables
        self._waiting = [topic for topic, entry in tables.topic_table.items() if entry.revision > self._revision]
        self._revision = tables.revision
        self._copy(max_queues if self._rounds < _MAX_ROUNDS else None)
        return None if self._waiting else self._captured()

    def _copy(self, max_queues: int | None) -> int:
        """Copy topics; returns what is left of `max_queues`."""
        left = 1 if max_queues is None else max_queues
        table, waiting, layouts = self._tables.topic_table, self._waiting, self._layouts
        while waiting and left > 0:
            topic = waiting.pop()
            entry = table.get(topic)
            if entry is None:
                continue
            queues = entry.queues.values()
            layout = tuple(map(id, queues))
            number = layouts.get(layout)
            if number is None:
                number = layouts[layout] = len(layouts)
                self._queues.update(zip(layout, queues, strict=True))
            self._copied[topic] = number
            if max_queues is not None:
                left -= len(layout) + 1
        return left

    def _captured(self) -> "Captured":
        tables = self._tables
        topics = list(tables.topic_table)
        return Captured(
            groups=[_group_image(group) for group in tables.group_table.values()],
            leases=[
                LeaseImage(
                    *key,
                    lease.timeout_ms,
                    lease.data_version,
                    lease.ha_addr,
                    lease.filter_servers,
                    lease.is_uncertain,
                )
                for key, lease in tables.lease_table.items()
            ],
            queues=self._queues,
            layouts=list(self._layouts),
            topics=topics,
            layout_of=[self._copied[topic] for topic in topics],
            mappings={topic: dict(mappings) for topic, mappings in tables.mapping_table.items()},
        )


class Captured(msgspec.Struct, frozen=True, kw_only=True):
    """A consistent copy that is independent of the tables: another thread can turn it into an image."""

    groups: list[GroupImage]
    leases: list[LeaseImage]
    queues: dict[int, QueueData]
    layouts: list[tuple[int, ...]]
    topics: list[str]
    layout_of: list[int]
    mappings: dict[str, dict[str, TopicQueueMappingInfo]]

    def image(self) -> Image:
        """The image, without layouts and queues that no topic uses any more."""
        used = list(dict.fromkeys(self.layout_of))
        layout_numbers = {number: place for place, number in enumerate(used)}
        layouts = [self.layouts[number] for number in used]
        queue_numbers = {own_id: n for n, own_id in enumerate(dict.fromkeys(i for ids in layouts for i in ids))}
        group_numbers = {group.name: number for number, group in enumerate(self.groups)}
        return Image(
            groups=self.groups,
            leases=self.leases,
            queues=[_queue_image(self.queues[own_id], group_numbers) for own_id in queue_numbers],
            layouts=[[queue_numbers[own_id] for own_id in layout] for layout in layouts],
            topics=self.topics,
            layout_of=[layout_numbers[number] for number in self.layout_of],
            mappings=self.mappings,
        )


def capture(tables: Tables) -> Image:
    """Capture an image in one call."""
    capturing = Capture(tables)
    while True:
        captured = capturing.step(max_queues=1 << 62)
        if captured is not None:
            return captured.image()


def restore(tables: Tables, image: Image) -> None:
    """Fill empty tables; no broker has a connection. Raises SnapshotError if the image is inconsistent."""
    try:
        _restore(tables, image)
    except (IndexError, KeyError, ValueError) as problem:
        raise SnapshotError(f"inconsistent: {problem!r}") from problem
    tables.revision = 1


def _restore(tables: Tables, image: Image) -> None:
    for group in image.groups:
        for broker_id, cluster, addr in group.members:
            tables.add_member(BrokerKey(cluster, addr), broker=group.name, broker_id=broker_id, connection=None)
        restored = tables.group_table[group.name]
        restored.cluster, restored.enable_acting_master, restored.zone = group.cluster, group.acting_master, group.zone
    if len(tables.lease_table) != len(image.leases):
        raise ValueError("leases and addresses differ")
    for stored in image.leases:
        lease = tables.lease_table[BrokerKey(stored.cluster, stored.addr)]
        lease.timeout_ms, lease.data_version, lease.ha_addr = stored.timeout_ms, stored.data_version, stored.ha_addr
        lease.filter_servers, lease.is_uncertain = stored.filter_servers, stored.is_uncertain
    groups = [tables.group_table[group.name] for group in image.groups]
    queues = [groups[one.group].queue((one.perm, one.read, one.write, one.flag)) for one in image.queues]
    layouts = [{groups[image.queues[n].group].name: queues[n] for n in layout} for layout in image.layouts]
    for number, count in Counter(image.layout_of).items():
        for name in layouts[number]:
            tables.group_table[name].topics += count
    for topic, number in zip(image.topics, image.layout_of, strict=True):
        entry = tables.topic_table[topic] = TopicEntry()
        entry.queues = layouts[number].copy()
        entry.revision = 1
    for topic, mappings in image.mappings.items():
        tables.mapping_table[topic] = dict(mappings)


def _group_image(group: BrokerGroup) -> GroupImage:
    members = [(broker_id, key.cluster, key.addr) for broker_id, key in group.members.items()]
    return GroupImage(group.name, group.cluster, group.enable_acting_master, group.zone, members)


def _queue_image(queue: QueueData, group_numbers: dict[str, int]) -> QueueImage:
    return QueueImage(
        group_numbers[queue.broker_name],
        queue.perm,
        queue.read_queue_nums,
        queue.write_queue_nums,
        queue.topic_sys_flag,
    )
