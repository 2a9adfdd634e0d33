"""Short constructors for registrations, and route tables as plain values, for tests of the route table."""

from collections.abc import Iterable
from typing import Any

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.effects import Change
from routebook.events import Queues
from routebook.model import (
    BrokerKey,
    DataVersion,
    QueueData,
    RegisterBody,
    RegisterResult,
    Registration,
    RoutePolicy,
    TopicConfig,
    TopicQueueMappingInfo,
    TopicRoute,
)
from routebook.routes import RouteTable
from routebook.routes.state import Tables

PLAIN = RoutePolicy()
ACTING = RoutePolicy(support_acting_master=True, notify_min_broker_id_changed=True)
PURGING = RoutePolicy(delete_topic_with_broker_registration=True)

MASTER = "10.0.0.1:10911"
SLAVE = "10.0.0.2:10911"
OTHER = "10.0.0.3:10911"

READ_WRITE = PERM_READ | PERM_WRITE


def version(counter: int = 1, *, timestamp: int = 1000, state: int = 0) -> DataVersion:
    return DataVersion(counter=counter, state_version=state, timestamp=timestamp)


def config(topic: str, *, perm: int = READ_WRITE, read: int = 8, write: int = 8, flag: int = 0) -> TopicConfig:
    return TopicConfig(topic_name=topic, perm=perm, read_queue_nums=read, write_queue_nums=write, topic_sys_flag=flag)


def queue(broker: str, *, perm: int = READ_WRITE, read: int = 8, write: int = 8, flag: int = 0) -> QueueData:
    return QueueData(broker_name=broker, perm=perm, read_queue_nums=read, write_queue_nums=write, topic_sys_flag=flag)


def queues(*, perm: int = READ_WRITE, read: int = 8, write: int = 8, flag: int = 0) -> Queues:
    """The same as in an event."""
    return Queues(perm, read, write, flag)


def mapping(topic: str, broker: str | None, *, epoch: int = 1) -> TopicQueueMappingInfo:
    return TopicQueueMappingInfo(
        bname=broker, curr_id_map={0: 0}, dirty=False, epoch=epoch, scope="__global__", topic=topic, total_queues=8
    )


def registration(
    broker: str = "broker-a",
    *,
    addr: str = MASTER,
    broker_id: int = 0,
    cluster: str = "DefaultCluster",
    topics: Iterable[str | TopicConfig] | None = ("base", "TopicTest"),
    data_version: DataVersion | None = version(),  # noqa: B008 - a frozen value
    mappings: Iterable[TopicQueueMappingInfo] = (),
    filter_servers: tuple[str, ...] | None = (),
    ha_addr: str | None = None,
    timeout_ms: int | None = None,
    acting_master: bool | None = False,
    zone: str | None = None,
) -> Registration:
    configs = None if topics is None else tuple(config(t) if isinstance(t, str) else t for t in topics)
    return Registration(
        cluster=cluster,
        broker=broker,
        addr=addr,
        broker_id=broker_id,
        ha_addr=addr.replace(":10911", ":10912") if ha_addr is None else ha_addr,
        timeout_ms=timeout_ms,
        acting_master=acting_master,
        zone=zone,
        body=RegisterBody(
            topics=configs,
            data_version=data_version,
            mappings={info.topic or "": info for info in mappings},
            filter_servers=filter_servers,
        ),
    )


def register(
    table: RouteTable,
    what: Registration,
    *,
    connection: int = 1,
    now_ms: int = 0,
    policy: RoutePolicy = PLAIN,
) -> Change:
    """Register something that is accepted."""
    registered = table.register(what, connection=connection, now_ms=now_ms, policy=policy)
    assert registered.result is not None
    return registered.change


def result_of(table: RouteTable, what: Registration, *, connection: int = 1) -> RegisterResult | None:
    return table.register(what, connection=connection, now_ms=0, policy=PLAIN).result


def unregister(
    table: RouteTable,
    what: Registration,
    *,
    connection: int = 99,
    broker_id: int | None = None,
    policy: RoutePolicy = PLAIN,
) -> Change:
    """104 for a registration, by default over an operator's connection."""
    said_id = what.broker_id if broker_id is None else broker_id
    return table.unregister(what.key, broker=what.broker, broker_id=said_id, connection=connection, policy=policy)


def route(table: RouteTable, topic: str, policy: RoutePolicy = PLAIN) -> TopicRoute:
    """The route of a topic, which must exist."""
    found = table.route(topic, policy)
    assert found is not None, topic
    return found


def addrs(table: RouteTable, topic: str, broker: str = "broker-a", policy: RoutePolicy = PLAIN) -> dict[int, str]:
    """The addresses of a broker in the route of a topic."""
    return {data.broker_name: data.broker_addrs for data in route(table, topic, policy).broker_datas}[broker]


def perm(table: RouteTable, topic: str, broker: str = "broker-a") -> int:
    found = table.queues(topic)
    assert found is not None, topic
    return found[broker].perm


def key(addr: str = MASTER, cluster: str = "DefaultCluster") -> BrokerKey:
    return BrokerKey(cluster, addr)


def dump(table: Tables) -> dict[str, Any]:
    """The whole content of the tables, except times, connections and revisions."""
    return {
        "topics": {topic: dict(entry.queues) for topic, entry in table.topic_table.items()},
        "groups": {
            name: (group.cluster, group.enable_acting_master, group.zone, dict(group.members))
            for name, group in table.group_table.items()
        },
        "clusters": {cluster: set(names) for cluster, names in table.cluster_table.items()},
        "leases": {
            key: (
                {broker: seat.broker_id for broker, seat in lease.memberships.items()},
                lease.timeout_ms,
                lease.data_version,
                lease.ha_addr,
                lease.filter_servers,
            )
            for key, lease in table.lease_table.items()
        },
        "mappings": {topic: dict(infos) for topic, infos in table.mapping_table.items()},
    }


def check_consistency(table: Tables) -> None:
    """Check the invariants between the tables."""
    seated = {
        (broker, seat.broker_id, key)
        for key, lease in table.lease_table.items()
        for broker, seat in lease.memberships.items()
    }
    members = {(name, i, key) for name, group in table.group_table.items() for i, key in group.members.items()}
    assert seated == members
    assert all(lease.memberships for lease in table.lease_table.values())
    clusters: dict[str, set[str]] = {}
    for name, _, key in members:
        clusters.setdefault(key.cluster, set()).add(name)
    assert {cluster: set(names) for cluster, names in table.cluster_table.items()} == clusters
    for name, group in table.group_table.items():
        assert group.name == name
        assert group.members
        assert list(group.members) == sorted(group.members)
        assert len({key.addr for key in group.members.values()}) == len(group.members)
        assert group.cluster in {key.cluster for key in group.members.values()}
        assert group.route_revision <= group.revision <= table.revision
        assert group.topics == sum(name in entry.queues for entry in table.topic_table.values())
    assert not table.memberless
    for entry in table.topic_table.values():
        assert entry.queues
        assert entry.queues.keys() <= table.group_table.keys()
        assert all(queue.broker_name == name for name, queue in entry.queues.items())
        assert entry.revision <= table.revision
    assert all(table.mapping_table.values())
    for key, lease in table.lease_table.items():
        for broker, seat in lease.memberships.items():
            assert seat.connection is None or (key, broker) in table.registered_over[seat.connection]
