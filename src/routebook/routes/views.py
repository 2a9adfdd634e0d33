"""Queries of the route table: routes, clusters, lists of names."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from routebook.model import BrokerData, ClusterInfo, QueueData, RoutePolicy, TopicList, TopicRoute
from routebook.routes.acting_master import route_addrs
from routebook.routes.state import BrokerGroup, Tables


class Sizes(NamedTuple):
    """Numbers of entries, for logs and metrics."""

    brokers: int
    groups: int
    clusters: int
    topics: int


def route(tables: Tables, topic: str, policy: RoutePolicy) -> TopicRoute | None:
    """The route of a topic, or None. Java: pickupTopicRouteData."""
    entry = tables.topic_table.get(topic)
    if entry is None:
        return None
    acting = policy.support_acting_master
    broker_datas: list[BrokerData] = []
    filter_servers: dict[str, list[str]] = {}
    for name, queue in entry.queues.items():
        group = tables.group_table[name]
        broker_datas.append(group.data_with(route_addrs(group, topic, queue)) if acting else group.data)
        for key in group.members.values():
            servers = tables.lease_table[key].filter_servers
            if servers:
                filter_servers[key.addr] = list(servers)
    mappings = tables.mapping_table.get(topic)
    return TopicRoute(
        broker_datas=broker_datas,
        filter_server_table=filter_servers,
        queue_datas=list(entry.queues.values()),
        topic_queue_mapping_by_broker=None if mappings is None else dict(mappings),
    )


def route_revision(tables: Tables, topic: str) -> int:
    """The revision of the last change of the topic's route; -1 if there is no route."""
    entry = tables.topic_table.get(topic)
    if entry is None:
        return -1
    groups = tables.group_table
    return max([entry.revision, *[groups[name].route_revision for name in entry.queues]])


def route_changed(tables: Tables, topic: str, *, since: int) -> bool:
    """Whether the topic's route changed after this revision. Checks the groups only if any of them changed."""
    entry = tables.topic_table.get(topic)
    if entry is None or entry.revision > since:
        return True
    return tables.groups_route_revision > since and route_revision(tables, topic) > since


def queues(tables: Tables, topic: str) -> Mapping[str, QueueData] | None:
    """The topic's queues by broker, read-only; None if the topic is unknown."""
    entry = tables.topic_table.get(topic)
    return None if entry is None else entry.queues


def group(tables: Tables, name: str) -> BrokerGroup | None:
    """A broker group, read-only."""
    return tables.group_table.get(name)


def cluster_info(tables: Tables) -> ClusterInfo:
    """106: all groups with the true ids of their members, and the groups of each cluster."""
    return ClusterInfo(
        broker_addr_table={name: group.data for name, group in tables.group_table.items()},
        cluster_addr_table={cluster: list(names) for cluster, names in tables.cluster_table.items()},
    )


def member_group(tables: Tables, broker: str) -> dict[int, str]:
    """901: the addresses of a group by their true ids; empty for an unknown group."""
    group = tables.group_table.get(broker)
    return {} if group is None else group.addrs


def topics(tables: Tables) -> list[str]:
    """206: all topics."""
    return list(tables.topic_table)


def topics_of_cluster(tables: Tables, cluster: str) -> list[str]:
    """224: topics with queues on any broker of the cluster."""
    names = tables.cluster_table.get(cluster, {}).keys()
    return [topic for topic, entry in tables.topic_table.items() if not names.isdisjoint(entry.queues)]


def system_topics(tables: Tables) -> TopicList:
    """304: names of clusters and brokers, which are topics too, and the address of a broker that lists the rest."""
    names = [name for cluster, members in tables.cluster_table.items() for name in (cluster, *members)]
    some = next(iter(tables.group_table.values()), None)
    return TopicList(
        broker_addr=None if some is None else some.members[some.min_id].addr,
        topic_list=list(dict.fromkeys(names)),
    )


def unit_topics(tables: Tables, predicate: Callable[[int], bool]) -> list[str]:
    """311, 312, 313: topics whose first queue entry has a matching system flag. Java: checks only the first."""
    return [
        topic
        for topic, entry in tables.topic_table.items()
        if predicate(next(iter(entry.queues.values())).topic_sys_flag)
    ]


def sizes(tables: Tables) -> Sizes:
    """Numbers of entries."""
    return Sizes(
        brokers=sum(len(group.members) for group in tables.group_table.values()),
        groups=len(tables.group_table),
        clusters=len(tables.cluster_table),
        topics=len(tables.topic_table),
    )
