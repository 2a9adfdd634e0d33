"""Request handlers: one function per request code, and the table that maps codes to them."""

from collections.abc import Callable
from typing import Final

from routebook.codes import RequestCode
from routebook.errors import Denied, RequestError, TooMuch, Unsupported
from routebook.events import RequestDenied
from routebook.handlers import brokers, configuration, kv, lookup, registration, topics
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import Caller, Outcome
from routebook.steps import Steps
from routebook.wire.command import Command, Reply

__all__ = ["HANDLERS", "Caller", "NameServer", "Outcome", "dispatch", "register_in_steps"]

Handler = Callable[[NameServer, Command, Caller, int], Outcome]

HANDLERS: Final[dict[int, Handler]] = {
    RequestCode.PUT_KV_CONFIG: kv.put_kv_config,
    RequestCode.GET_KV_CONFIG: kv.get_kv_config,
    RequestCode.DELETE_KV_CONFIG: kv.delete_kv_config,
    RequestCode.REGISTER_BROKER: registration.register_broker,
    RequestCode.UNREGISTER_BROKER: brokers.unregister_broker,
    RequestCode.GET_ROUTEINFO_BY_TOPIC: lookup.get_route_info_by_topic,
    RequestCode.GET_BROKER_CLUSTER_INFO: brokers.get_broker_cluster_info,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: brokers.wipe_write_perm_of_broker,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: topics.get_all_topic_list,
    RequestCode.DELETE_TOPIC_IN_NAMESRV: topics.delete_topic_in_namesrv,
    RequestCode.REGISTER_TOPIC_IN_NAMESRV: topics.register_topic_in_namesrv,
    RequestCode.GET_KVLIST_BY_NAMESPACE: kv.get_kvlist_by_namespace,
    RequestCode.GET_TOPICS_BY_CLUSTER: topics.get_topics_by_cluster,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: topics.get_system_topic_list,
    RequestCode.GET_UNIT_TOPIC_LIST: topics.get_unit_topic_list,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: topics.get_has_unit_sub_topic_list,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: topics.get_has_unit_sub_ununit_topic_list,
    RequestCode.UPDATE_NAMESRV_CONFIG: configuration.update_namesrv_config,
    RequestCode.GET_NAMESRV_CONFIG: configuration.get_namesrv_config,
    RequestCode.QUERY_DATA_VERSION: brokers.query_data_version,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: brokers.add_write_perm_of_broker,
    RequestCode.GET_BROKER_MEMBER_GROUP: brokers.get_broker_member_group,
    RequestCode.BROKER_HEARTBEAT: brokers.broker_heartbeat,
}


def dispatch(ns: NameServer, command: Command, caller: Caller, now_ms: int) -> Outcome:
    """Handle one request. A RequestError becomes a reply; other exceptions propagate to the caller."""
    handler = HANDLERS.get(command.code, _unsupported)
    try:
        return handler(ns, command, caller, now_ms)
    except RequestError as refusal:
        return _refused(ns, command, refusal)


def register_in_steps(ns: NameServer, command: Command, caller: Caller, now_ms: int) -> Steps[Outcome]:
    """`dispatch` for a long registration, in steps; the tables change in the last one."""
    try:
        return (yield from registration.register_in_steps(ns, command, caller, now_ms))
    except RequestError as refusal:
        return _refused(ns, command, refusal)


def _refused(ns: NameServer, command: Command, refusal: RequestError) -> Outcome:
    reply = Reply(code=int(refusal.code), remark=refusal.remark, ext={} if refusal.with_header else None)
    if isinstance(refusal, TooMuch):
        ns.exceeded[refusal.limit] += 1
    if isinstance(refusal, Denied):
        return Outcome(reply, (RequestDenied(code=command.code, why=refusal.remark or ""),))
    return Outcome(reply)


def _unsupported(_ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    raise Unsupported(f" request type {command.code} not supported")  # Java: with the leading blank
