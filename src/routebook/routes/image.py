"""An image of the tables, small enough to be written often: what many topics have in common stands in it once.

    topics ─► layouts ─► queues ─► groups        each arrow an index: which queues, of which shape, on which group

It is taken in short steps, between which the tables go on changing. Every topic carries the revision of its last
change, so what changed since it was copied is copied again, and the last step makes all of it one moment's.
"""

from collections import Counter
from typing import Final

import msgspec

from routebook.errors import SnapshotError
from routebook.model import BrokerKey, DataVersion, QueueData, TopicQueueMappingInfo
from routebook.routes.state import BrokerGroup, Tables, TopicEntry

_MOST_ROUNDS: Final = 8  # then the rest is copied in one go: tables that never rest must be saved, too


class GroupImage(msgspec.Struct, frozen=True, array_like=True):
    """The brokers of one name: id, cluster, address."""

    name: str
    cluster: str
    acting_master: bool
    zone: str | None
    members: list[tuple[int, str, str]]


class LeaseImage(msgspec.Struct, frozen=True, array_like=True):
    """What an address says about itself."""

    cluster: str
    addr: str
    timeout_ms: int
    data_version: DataVersion | None
    ha_addr: str | None
    filter_servers: tuple[str, ...]
    doubtful: bool = False


class QueueImage(msgspec.Struct, frozen=True, array_like=True):
    """One shape of queues on one group."""

    group: int
    perm: int
    read: int
    write: int
    flag: int


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """All that the tables know, but for connections and times."""

    groups: list[GroupImage]
    leases: list[LeaseImage]
    queues: list[QueueImage]
    layouts: list[list[int]]
    topics: list[str]
    layout_of: list[int]  # of each topic
    mappings: dict[str, dict[str, TopicQueueMappingInfo]]


class Capture:
    """Takes an image: `step` until it gives one."""

    __slots__ = ("_copied", "_layouts", "_queues", "_revision", "_rounds", "_tables", "_waiting")

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._revision = tables.revision
        self._waiting = list(tables.topic_table)
        self._rounds = 0
        self._copied: dict[str, int] = {}  # topic → its layout
        self._layouts: dict[tuple[int, ...], int] = {}  # ids of queues, which `_queues` keeps alive
        self._queues: dict[int, QueueData] = {}  # by id

    def step(self, *, most: int) -> "Captured | None":
        """Copy the queues of some topics, about `most`; all of it when that was the last step."""
        left = self._copy(most)
        if left <= 0 or self._waiting:
            return None
        # all copied once: what has changed meanwhile?
        self._rounds += 1
        tables = self._tables
        self._waiting = [topic for topic, entry in tables.topic_table.items() if entry.revision > self._revision]
        self._revision = tables.revision
        self._copy(most if self._rounds < _MOST_ROUNDS else None)
        return None if self._waiting else self._captured()

    def _copy(self, most: int | None) -> int:
        """How many are left of `most`."""
        left = 1 if most is None else most
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
            if most is not None:
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
                    lease.doubtful,
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
    """One moment of the tables, that no longer hangs on them: what is left to do can be done on another thread."""

    groups: list[GroupImage]
    leases: list[LeaseImage]
    queues: dict[int, QueueData]
    layouts: list[tuple[int, ...]]
    topics: list[str]
    layout_of: list[int]
    mappings: dict[str, dict[str, TopicQueueMappingInfo]]

    def image(self) -> Image:
        """Without what was copied and is no longer used."""
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
    """An image in one go."""
    taking = Capture(tables)
    while True:
        captured = taking.step(most=1 << 62)
        if captured is not None:
            return captured.image()


def restore(tables: Tables, image: Image) -> None:
    """Fill empty tables. Nobody has a connection. Raises SnapshotError if the image does not fit together."""
    try:
        _restore(tables, image)
    except (IndexError, KeyError, ValueError) as problem:
        raise SnapshotError(f"its parts do not fit together: {problem!r}") from problem
    tables.revision = 1


def _restore(tables: Tables, image: Image) -> None:
    for group in image.groups:
        for broker_id, cluster, addr in group.members:
            tables.seat(BrokerKey(cluster, addr), broker=group.name, broker_id=broker_id, connection=None)
        seated = tables.group_table[group.name]
        seated.cluster, seated.enable_acting_master, seated.zone = group.cluster, group.acting_master, group.zone
    if len(tables.lease_table) != len(image.leases):
        raise ValueError("there is not one lease for each address")
    for said in image.leases:
        lease = tables.lease_table[BrokerKey(said.cluster, said.addr)]
        lease.timeout_ms, lease.data_version, lease.ha_addr = said.timeout_ms, said.data_version, said.ha_addr
        lease.filter_servers, lease.doubtful = said.filter_servers, said.doubtful
    groups = [tables.group_table[group.name] for group in image.groups]
    queues = [groups[said.group].queue((said.perm, said.read, said.write, said.flag)) for said in image.queues]
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
