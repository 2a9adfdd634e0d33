"""Requests about topics: 206, 216, 217, 224, 304, 311, 312, 313."""

from collections.abc import Callable

from routebook.codes import SYS_FLAG_UNIT, SYS_FLAG_UNIT_SUB
from routebook.errors import Disabled
from routebook.handlers.names import check_names, required_name
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import DONE, OK, Caller, Outcome
from routebook.model import TopicList
from routebook.wire.bodies import encode_topic_list
from routebook.wire.command import Command, Reply
from routebook.wire.request_bodies import decode_topic_route


def get_all_topic_list(ns: NameServer, _command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """206. All topics."""
    if not ns.settings.enable_all_topic_list:
        raise Disabled("disable")
    return _listed(ns, 206, ns.routes.topics)


def get_topics_by_cluster(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """224. An unknown cluster has no topics."""
    _check_lists_enabled(ns)
    cluster = command.field("cluster") or ""
    if cluster not in ns.routes.cluster_table:
        cluster = ""  # one entry of the cache for all unknown names
    return _listed(ns, 224, lambda: ns.routes.topics_of_cluster(cluster), cluster)


def get_system_topic_list(ns: NameServer, _command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """304. Names of clusters and brokers, and the address of a broker that lists the other system topics."""
    body = ns.lists.get((304, ""), ns.routes.revision, lambda: encode_topic_list(ns.routes.system_topics()))
    return Outcome(Reply(body=body))


def get_unit_topic_list(ns: NameServer, _command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """311. Topics with the unit flag."""
    return _flagged(ns, 311, lambda flag: bool(flag & SYS_FLAG_UNIT))


def get_has_unit_sub_topic_list(ns: NameServer, _command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """312. Topics with the unit subscription flag."""
    return _flagged(ns, 312, lambda flag: bool(flag & SYS_FLAG_UNIT_SUB))


def get_has_unit_sub_ununit_topic_list(ns: NameServer, _command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """313. Topics with the unit subscription flag and without the unit flag."""
    return _flagged(ns, 313, lambda flag: bool(flag & SYS_FLAG_UNIT_SUB) and not flag & SYS_FLAG_UNIT)


def delete_topic_in_namesrv(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """216. Delete a topic in one cluster, or in all."""
    topic = command.field("topic")
    if topic is None:
        return DONE
    change = ns.routes.delete_topic(topic, cluster=command.field("clusterName") or None)
    return Outcome(OK, change.events, change.effects)


def register_topic_in_namesrv(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """217. Register one topic without a registration of its brokers."""
    queues = decode_topic_route(command.body)
    if not queues:
        return DONE
    max_length = ns.settings.name_length
    topic = required_name(command, "topic", max_length=max_length)
    check_names([queue.broker_name for queue in queues], "brokerName", max_length=max_length)
    ns.totals.check_topic(ns, topic)
    change = ns.routes.register_topic(topic, queues)
    return Outcome(OK, change.events, change.effects)


def _flagged(ns: NameServer, code: int, predicate: Callable[[int], bool]) -> Outcome:
    _check_lists_enabled(ns)
    return _listed(ns, code, lambda: ns.routes.unit_topics(predicate))


def _check_lists_enabled(ns: NameServer) -> None:
    if not ns.settings.enable_topic_list:
        raise Disabled("disable")


def _listed(ns: NameServer, code: int, topics: Callable[[], list[str]], argument: str = "") -> Outcome:
    def encode() -> bytes:
        return encode_topic_list(TopicList(topic_list=topics()))

    return Outcome(Reply(body=ns.lists.get((code, argument), ns.routes.revision, encode)))
