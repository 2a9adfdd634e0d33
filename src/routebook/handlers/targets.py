"""Finds the clusters and brokers that a request would change, for authorization."""

from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from routebook.access.decision import NOTHING, Target
from routebook.codes import RequestCode
from routebook.handlers.nameserver import NameServer
from routebook.model import BrokerKey
from routebook.wire.command import Command
from routebook.wire.request_bodies import decode_topic_route


def target_of(ns: NameServer, command: Command) -> Target:
    """The target of a request. Raises RequestError if the body that names it cannot be decoded."""
    finder = _FINDERS.get(command.code)
    return NOTHING if finder is None else finder(ns, command)


def _lease(ns: NameServer, command: Command) -> Target:
    """A broker sends a name, a cluster and an address; each of them may belong to another broker, of any cluster."""
    name, cluster, addr = (command.field(field) or "" for field in ("brokerName", "clusterName", "brokerAddr"))
    names = [name] if name else []
    for known in ns.routes.cluster_table:
        lease = ns.routes.lease_table.get(BrokerKey(known, addr))
        names += () if lease is None else lease.memberships
    found = _brokers(ns, names)
    return Target(clusters=found.clusters | ({cluster} if cluster else set()), brokers=found.brokers)


def _broker(ns: NameServer, command: Command) -> Target:
    name = command.field("brokerName")
    return replace(_brokers(ns, [name] if name else []), all_topics=True)


def _topic(ns: NameServer, command: Command) -> Target:
    """A topic is deleted on all its brokers, or on those of one cluster."""
    topic, cluster = command.field("topic"), command.field("clusterName")
    names = list(ns.routes.queues(topic or "") or ())
    topics = frozenset({topic} if topic else ())
    if not cluster:
        return replace(_brokers(ns, names), topics=topics)
    within = ns.routes.cluster_table.get(cluster, {})
    brokers = frozenset(name for name in names if name in within)
    return Target(clusters=frozenset({cluster}), brokers=brokers, topics=topics)


def _queues(ns: NameServer, command: Command) -> Target:
    topic = command.field("topic")
    found = _brokers(ns, [queue.broker_name for queue in decode_topic_route(command.body) or ()])
    return replace(found, topics=frozenset({topic} if topic else ()))


def _whole_server(_ns: NameServer, _command: Command) -> Target:
    return Target(whole_server=True)


def _brokers(ns: NameServer, names: Iterable[str]) -> Target:
    """The brokers, and all clusters with a broker of that name."""
    names = frozenset(names)
    groups = [group for name in names if (group := ns.routes.group(name)) is not None]
    clusters = {key.cluster for group in groups for key in group.members.values()}
    return Target(clusters=frozenset(clusters), brokers=names)


_FINDERS: Final[dict[int, Callable[[NameServer, Command], Target]]] = {
    RequestCode.REGISTER_BROKER: _lease,
    RequestCode.UNREGISTER_BROKER: _lease,
    RequestCode.QUERY_DATA_VERSION: _lease,
    RequestCode.BROKER_HEARTBEAT: _lease,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: _broker,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: _broker,
    RequestCode.DELETE_TOPIC_IN_NAMESRV: _topic,
    RequestCode.REGISTER_TOPIC_IN_NAMESRV: _queues,
    RequestCode.PUT_KV_CONFIG: _whole_server,
    RequestCode.DELETE_KV_CONFIG: _whole_server,
    RequestCode.UPDATE_NAMESRV_CONFIG: _whole_server,
}
