"""Builds API responses from the route tables. Read-only; the responses are copies."""

import msgspec

from routebook.codes import MASTER_ID, ORDER_TOPIC_NAMESPACE, PERM_READ, PERM_WRITE
from routebook.handlers import NameServer
from routebook.history.query.answers import PastBrokers, PastRoute
from routebook.model import BrokerKey, TopicRoute
from routebook.routes.state import BrokerGroup as TableGroup
from routebook.routes.state import Lease, Membership
from routebook.server.http.views import answers
from routebook.settings import SETTINGS


def sizes(ns: NameServer) -> answers.Sizes:
    counted = ns.routes.sizes()
    return answers.Sizes(
        clusters=counted.clusters, broker_groups=counted.groups, brokers=counted.brokers, topics=counted.topics
    )


def settings(ns: NameServer) -> dict[str, str | int | bool]:
    """All settings except secrets."""
    return {setting.key: ns.settings.values[setting.key] for setting in SETTINGS if not setting.is_secret}


def clusters(ns: NameServer) -> list[answers.Cluster]:
    counts: dict[str, int] = {}
    for key, lease in ns.routes.lease_table.items():
        counts[key.cluster] = counts.get(key.cluster, 0) + len(lease.memberships)
    return [
        answers.Cluster(name=name, broker_groups=sorted(groups), brokers=counts.get(name, 0))
        for name, groups in sorted(ns.routes.cluster_table.items())
    ]


def group(ns: NameServer, found: TableGroup, now_ms: int) -> answers.BrokerGroup:
    leases = ns.routes.lease_table
    return answers.BrokerGroup(
        name=found.name,
        cluster=found.cluster,
        acting_master=found.enable_acting_master,
        zone=found.zone,
        members=[
            _member(key, leases[key], leases[key].memberships[found.name], now_ms=now_ms)
            for key in found.members.values()
        ],
    )


def state_of(lease: Lease, seat: Membership, now_ms: int) -> answers.MemberState:
    """State of one broker's lease."""
    if seat.connection is None:
        return answers.MemberState.RECOVERED
    if (now_ms - lease.last_update_ms) * 2 > lease.timeout_ms:
        return answers.MemberState.LATE
    return answers.MemberState.REGISTERED


def topic_summary(ns: NameServer, topic: str) -> answers.TopicSummary | None:
    queues = ns.routes.queues(topic)
    if queues is None:
        return None
    return answers.TopicSummary(
        name=topic,
        brokers=len(queues),
        read_queues=sum(queue.read_queue_nums for queue in queues.values() if queue.perm & PERM_READ),
        write_queues=sum(queue.write_queue_nums for queue in queues.values() if queue.perm & PERM_WRITE),
    )


def route(ns: NameServer, topic: str) -> answers.Route | None:
    """The route that clients get now."""
    found = ns.routes.route(topic, ns.settings.policy)
    if found is None:
        return None
    return _route(msgspec.structs.replace(found, order_topic_conf=ns.kv.get(ORDER_TOPIC_NAMESPACE, topic)))


def past_route(past: PastRoute) -> answers.RouteAnswer:
    return answers.RouteAnswer(
        topic=past.topic,
        at_ms=past.at_ms,
        route=None if past.route is None else _route(past.route),
        past=msgspec.convert(past, answers.PastOfRoute, from_attributes=True),
    )


def past_brokers(past: PastBrokers) -> answers.PastBrokersAnswer:
    groups = [
        answers.PastGroup(
            name=one.broker,
            cluster=one.cluster,
            acting_master=one.acting_master,
            zone=one.zone,
            addrs=_by_id(one.addrs),
            since_ms=one.since_ms,
        )
        for one in past.brokers
    ]
    return answers.PastBrokersAnswer(at_ms=past.at_ms, groups=groups, certainty=past.certainty)


def groups_without_master(ns: NameServer) -> set[str]:
    return {name for name, group in ns.routes.group_table.items() if MASTER_ID not in group.members}


def _member(key: BrokerKey, lease: Lease, seat: Membership, *, now_ms: int) -> answers.Member:
    version = lease.data_version
    return answers.Member(
        broker_id=seat.broker_id,
        addr=key.addr,
        ha_addr=lease.ha_addr,
        cluster=key.cluster,
        state=state_of(lease, seat, now_ms),
        last_seen_ms=lease.last_update_ms,
        silent_ms=max(0, now_ms - lease.last_update_ms),
        timeout_ms=lease.timeout_ms,
        data_version=None if version is None else msgspec.convert(version, answers.Version, from_attributes=True),
        filter_servers=list(lease.filter_servers),
    )


def _route(found: TopicRoute) -> answers.Route:
    return answers.Route(
        brokers=[
            answers.RouteBroker(
                name=data.broker_name,
                cluster=data.cluster,
                acting_master=data.enable_acting_master,
                zone=data.zone_name,
                addrs=_by_id(data.broker_addrs),
            )
            for data in found.broker_datas
        ],
        queues=[
            answers.RouteQueues(
                broker=queue.broker_name,
                perm=queue.perm,
                readable=bool(queue.perm & PERM_READ),
                writable=bool(queue.perm & PERM_WRITE),
                read_queues=queue.read_queue_nums,
                write_queues=queue.write_queue_nums,
                system_flag=queue.topic_sys_flag,
            )
            for queue in found.queue_datas
        ],
        filter_servers=found.filter_server_table,
        static_mappings={
            broker: answers.StaticMapping(
                epoch=info.epoch,
                total_queues=info.total_queues,
                scope=info.scope,
                queues={str(logical): own for logical, own in (info.curr_id_map or {}).items()},
            )
            for broker, info in (found.topic_queue_mapping_by_broker or {}).items()
        },
        order_config=found.order_topic_conf,
    )


def _by_id(addrs: dict[int, str]) -> dict[str, str]:
    return {str(broker_id): addr for broker_id, addr in addrs.items()}
