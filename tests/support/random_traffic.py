"""Random traffic for a real route table with the journal records it produces, and a naive replay of them."""

from collections.abc import Sequence
from random import Random

import msgspec

from routebook.effects import Change
from routebook.events import DownReason, Event, HeartbeatMinute, RouteEvent, ServerStarted, ServerStopped
from routebook.journal.record import Record
from routebook.model import (
    ClusterInfo,
    DataVersion,
    QueueData,
    RegisterBody,
    Registration,
    RoutePolicy,
    TopicConfig,
    TopicRoute,
)
from routebook.routes import RouteTable
from tests.support.route_tables import mapping

PLAIN = RoutePolicy()
TOPICS = [f"T{n}" for n in range(40)]
_ADDRS = ["h0:1", "h1:1", "h2:1", "h3:1", "h4:1"]
_BROKERS = ["a", "b", "c"]


class Traffic:
    """One NameServer over several starts. Its clock can jump back."""

    def __init__(self, seed: int, *, ns: str = "n") -> None:
        self.random = Random(seed)
        self.table = RouteTable()
        self.records: list[Record] = []
        self.ns, self.boots, self.now = ns, 0, 1_731_700_000_000
        self.policy = PLAIN
        self._versions = 0
        self.start(cold=False)

    def start(self, *, cold: bool) -> None:
        self.boots += 1
        if cold:
            self.table = RouteTable()
        self.write(ServerStarted(version="0", listen="127.0.0.1:1", cold=cold))

    def write(self, *events: Event) -> None:
        for event in events:
            self.records.append(Record(1, self.ns, f"boot{self.boots}", len(self.records) + 1, self.now, event))

    def run(self, steps: int) -> list[Record]:
        for _ in range(steps):
            self.step()
        return self.records

    def step(self) -> None:
        random = self.random
        self.now += random.choice([0, 1, 1, 50, 1000, 30_000])
        if random.random() < 0.02:
            self.now -= 3_600_000
        if random.random() < 0.05:
            self.policy = RoutePolicy(delete_topic_with_broker_registration=random.random() < 0.5)
        kind = random.choices(
            ["register", "lost", "expire", "unregister", "topic", "delete", "wipe", "restore", "beat", "restart"],
            [30, 8, 2, 4, 8, 5, 4, 4, 5, 2],
        )[0]
        getattr(self, f"_{kind}")()

    def _happened(self, change: Change) -> None:
        self.write(*change.events)

    def _register(self) -> None:
        registered = self.table.register(
            self._registration(), connection=self.random.randrange(6), now_ms=self.now, policy=self.policy
        )
        self._happened(registered.change)

    def _registration(self) -> Registration:
        random = self.random
        self._versions += random.random() < 0.7
        count = random.choice([2, 3, 5, 25, 40])
        same = random.random() < 0.5
        configs = [self._config(topic, same=same) for topic in random.sample(TOPICS, count)]
        mapped = random.choice(TOPICS)
        return Registration(
            cluster=random.choice(["C1", "C1", "C1", "C2"]),
            broker=random.choice(_BROKERS),
            addr=random.choice(_ADDRS),
            broker_id=random.choice([0, 0, 0, 1, 2]),
            ha_addr=None,
            timeout_ms=random.choice([None, 10_000]),
            acting_master=random.choice([True, False, None]),
            zone=random.choice([None, None, "Z"]),
            body=RegisterBody(
                topics=tuple(configs),
                data_version=DataVersion(counter=self._versions, state_version=0, timestamp=1),
                mappings={mapped: mapping(mapped, random.choice(["a", "b", "ghost"]), epoch=random.randrange(3))}
                if random.random() < 0.2
                else {},
                filter_servers=random.choice([(), (), None, ("f:1",)]),
            ),
        )

    def _config(self, topic: str, *, same: bool) -> TopicConfig:
        random = self.random
        if same:
            return TopicConfig(topic_name=topic, perm=6, read_queue_nums=8, write_queue_nums=8)
        return TopicConfig(
            topic_name=topic,
            perm=random.choice([6, 4, 7]),
            read_queue_nums=random.randrange(1, 9),
            write_queue_nums=random.randrange(1, 9),
            topic_sys_flag=random.randrange(2),
        )

    def _lost(self) -> None:
        connection = self.random.randrange(6)
        self._happened(self.table.connection_lost(connection, reason=DownReason.CLOSED, policy=self.policy))

    def _expire(self) -> None:
        self.now += 125_000
        self._happened(self.table.expire(self.now, policy=self.policy))

    def _unregister(self) -> None:
        for key, lease in self.table.lease_table.items():
            broker, seat = next(iter(lease.memberships.items()))
            change = self.table.unregister(
                key, broker=broker, broker_id=seat.broker_id, connection=99, policy=self.policy
            )
            self._happened(change)
            return

    def _topic(self) -> None:
        random = self.random
        queue = QueueData(
            broker_name=random.choice(_BROKERS),
            perm=6,
            read_queue_nums=random.randrange(1, 5),
            topic_sys_flag=0,
            write_queue_nums=3,
        )
        self._happened(self.table.register_topic(random.choice(TOPICS), [queue]))

    def _delete(self) -> None:
        cluster = self.random.choice([None, "C1"])
        self._happened(self.table.delete_topic(self.random.choice(TOPICS), cluster=cluster))

    def _wipe(self) -> None:
        self._happened(self.table.wipe_write(self.random.choice(_BROKERS))[1])

    def _restore(self) -> None:
        self._happened(self.table.restore_write(self.random.choice(_BROKERS))[1])

    def _beat(self) -> None:
        self.write(HeartbeatMinute(cluster="C1", broker="a", addr="h0:1", minute_ms=0, count=2))

    def _restart(self) -> None:
        if self.random.random() < 0.5:
            self.write(ServerStopped(reason="SIGTERM"))
        self.now += 5000
        self.start(cold=self.random.random() < 0.5)


def tables_after(records: Sequence[Record]) -> RouteTable:
    """Replay the tables from their events."""
    table = RouteTable()
    for record in records:
        event = record.event
        if isinstance(event, ServerStarted) and event.cold:
            table = RouteTable()
        elif isinstance(event, RouteEvent):
            table.apply(event, now_ms=0)
    return table


def prefix_at(records: Sequence[Record], at_ms: int) -> list[Record]:
    """All records up to `at_ms` on a clock that never goes back."""
    return [record for record, latest in zip(records, running_max(records), strict=True) if latest <= at_ms]


def running_max(records: Sequence[Record]) -> list[int]:
    latest, maxima = 0, []
    for record in records:
        latest = max(latest, record.at)
        maxima.append(latest)
    return maxima


def sorted_route(route: TopicRoute | None) -> TopicRoute | None:
    """The same with brokers sorted by name; their order is not significant."""
    if route is None:
        return None
    return msgspec.structs.replace(
        route,
        broker_datas=sorted(route.broker_datas, key=lambda data: data.broker_name),
        queue_datas=sorted(route.queue_datas, key=lambda queue: queue.broker_name),
    )


def groups_of(info: ClusterInfo) -> dict[str, tuple[str, dict[int, str], bool, str | None]]:
    return {
        name: (data.cluster, data.broker_addrs, data.enable_acting_master, data.zone_name)
        for name, data in info.broker_addr_table.items()
    }
