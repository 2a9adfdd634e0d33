"""Views of NameServers built by hand: brokers with their topics, and the resulting routes."""

from collections.abc import Mapping, Sequence

from routebook.disagreements import View
from routebook.model import BrokerData, ClusterInfo, QueueData, TopicRoute

Topics = Mapping[str, QueueData]


def queues(broker: str, *, read: int = 8, write: int = 8, perm: int = 6) -> QueueData:
    return QueueData(broker_name=broker, perm=perm, read_queue_nums=read, topic_sys_flag=0, write_queue_nums=write)


def group(name: str, *, cluster: str = "c1", zone: str | None = None, **members: str) -> BrokerData:
    """`m0="10.0.0.1:10911"` is the master; without members, a master with an address derived from the name."""
    addrs = {int(key[1:]): addr for key, addr in members.items()} or {0: f"{name}.example:10911"}
    return BrokerData(broker_addrs=addrs, broker_name=name, cluster=cluster, enable_acting_master=False, zone_name=zone)


def bare(data: BrokerData) -> tuple[BrokerData, Topics]:
    """A broker without topics."""
    return data, {}


def view(
    who: str,
    brokers: Sequence[tuple[BrokerData, Topics]],
    *,
    kv: dict[str, dict[str, str]] | None = None,
    settings: dict[str, str] | None = None,
    order: Mapping[str, str] | None = None,
) -> View:
    datas: dict[str, list[BrokerData]] = {}
    entries: dict[str, list[QueueData]] = {}
    clusters: dict[str, list[str]] = {}
    for data, topics in brokers:
        clusters.setdefault(data.cluster, []).append(data.broker_name)
        for topic, queue in topics.items():
            datas.setdefault(topic, []).append(data)
            entries.setdefault(topic, []).append(queue)
    return View(
        who=who,
        info=ClusterInfo(
            broker_addr_table={data.broker_name: data for data, _ in brokers}, cluster_addr_table=clusters
        ),
        routes={
            topic: TopicRoute(
                broker_datas=datas[topic],
                filter_server_table={},
                order_topic_conf=(order or {}).get(topic),
                queue_datas=entries[topic],
            )
            for topic in entries
        },
        kv=kv or {},
        settings=settings,
    )


def on(name: str, *topics: str, cluster: str = "c1") -> tuple[BrokerData, dict[str, QueueData]]:
    """A broker with a master and these topics."""
    return group(name, cluster=cluster), {topic: queues(name) for topic in topics}
