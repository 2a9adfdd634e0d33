"""Every NameServer request as a value: its code, fields and body, and a decoder for the response."""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from routebook.client.answers import Registered, VersionCheck
from routebook.codes import RequestCode
from routebook.errors import ProtocolError
from routebook.model import ClusterInfo, DataVersion, MemberGroup, QueueData, Registration, TopicList, TopicRoute
from routebook.wire.bodies import encode_data_version, encode_route
from routebook.wire.command import Command
from routebook.wire.fields import bool_field, int_field
from routebook.wire.reply_bodies import (
    decode_cluster_info,
    decode_data_version,
    decode_kv_table,
    decode_member_group,
    decode_route,
    decode_topic_list,
)

T = TypeVar("T")


class Request(msgspec.Struct, Generic[T], frozen=True):
    """One request; `read` decodes a response with code 0, or raises ProtocolError."""

    code: int
    read: Callable[[Command], T]
    ext: dict[str, str] | None = None
    body: bytes | None = None


def route(topic: str, *, zone: str | None = None) -> Request[TopicRoute]:
    """105. With a zone: only brokers of that zone, and brokers without a master."""
    ext = {"topic": topic}
    if zone is not None:
        ext |= {"__ZONE_MODE": "true", "__ZONE_NAME": zone}
    return Request(RequestCode.GET_ROUTEINFO_BY_TOPIC, lambda answer: decode_route(answer.body), ext)


def cluster_info() -> Request[ClusterInfo]:
    """106."""
    return Request(RequestCode.GET_BROKER_CLUSTER_INFO, lambda answer: decode_cluster_info(answer.body))


def topics() -> Request[list[str]]:
    """206."""
    return Request(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, _topic_names)


def topics_of_cluster(cluster: str) -> Request[list[str]]:
    """224."""
    return Request(RequestCode.GET_TOPICS_BY_CLUSTER, _topic_names, {"cluster": cluster})


def system_topics() -> Request[TopicList]:
    """304: cluster and broker names, and the address of a broker that has the other system topics."""
    return Request(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, lambda answer: decode_topic_list(answer.body))


def unit_topics() -> Request[list[str]]:
    """311."""
    return Request(RequestCode.GET_UNIT_TOPIC_LIST, _topic_names)


def unit_subscribed_topics() -> Request[list[str]]:
    """312."""
    return Request(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, _topic_names)


def unit_subscribed_plain_topics() -> Request[list[str]]:
    """313: subscribed by units, without unit topics."""
    return Request(RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, _topic_names)


def get_kv(namespace: str, key: str) -> Request[str]:
    """101."""
    return Request(RequestCode.GET_KV_CONFIG, lambda answer: _field(answer, "value"), _kv(namespace, key))


def put_kv(namespace: str, key: str, value: str) -> Request[None]:
    """100."""
    return Request(RequestCode.PUT_KV_CONFIG, _nothing, _kv(namespace, key) | {"value": value})


def delete_kv(namespace: str, key: str) -> Request[None]:
    """102."""
    return Request(RequestCode.DELETE_KV_CONFIG, _nothing, _kv(namespace, key))


def list_kv(namespace: str) -> Request[dict[str, str]]:
    """219."""
    ext = {"namespace": namespace}
    return Request(RequestCode.GET_KVLIST_BY_NAMESPACE, lambda answer: decode_kv_table(answer.body), ext)


def settings() -> Request[dict[str, str]]:
    """319."""
    return Request(RequestCode.GET_NAMESRV_CONFIG, _settings)


def update_settings(changes: Mapping[str, str]) -> Request[str | None]:
    """318. Java ignores unknown settings; Routebook names rejected settings in the remark."""
    from routebook.properties import edit  # noqa: PLC0415 - rarely needed, compiles patterns

    body = edit("", changes).encode()  # escaped, because a server reads other bytes than ASCII as several characters
    return Request(RequestCode.UPDATE_NAMESRV_CONFIG, lambda answer: answer.remark, None, body)


def wipe_write(broker: str) -> Request[int]:
    """205; the response is the number of topics on that broker."""
    read = _count("wipeTopicCount")
    return Request(RequestCode.WIPE_WRITE_PERM_OF_BROKER, read, {"brokerName": broker})


def restore_write(broker: str) -> Request[int]:
    """327; the response is the number of topics on that broker."""
    read = _count("addTopicCount")
    return Request(RequestCode.ADD_WRITE_PERM_OF_BROKER, read, {"brokerName": broker})


def delete_topic(topic: str, *, cluster: str | None = None) -> Request[None]:
    """216; without a cluster, in all clusters."""
    ext = {"topic": topic} | ({} if cluster is None else {"clusterName": cluster})
    return Request(RequestCode.DELETE_TOPIC_IN_NAMESRV, _nothing, ext)


def register_topic(topic: str, queues: Sequence[QueueData]) -> Request[None]:
    """217; an unknown broker ends the request without an error."""
    shape = TopicRoute(broker_datas=[], filter_server_table={}, queue_datas=list(queues))
    body = encode_route(shape, standard=False)
    return Request(RequestCode.REGISTER_TOPIC_IN_NAMESRV, _nothing, {"topic": topic}, body)


def member_group(cluster: str, broker: str) -> Request[MemberGroup]:
    """901; an unknown broker has no members."""
    ext = {"brokerName": broker, "clusterName": cluster}
    return Request(RequestCode.GET_BROKER_MEMBER_GROUP, lambda answer: decode_member_group(answer.body), ext)


def query_data_version(
    version: DataVersion, *, cluster: str, broker: str, addr: str, broker_id: int
) -> Request[VersionCheck]:
    """322. Also renews the lease, which is its only effect when sent one-way."""
    ext = _broker(cluster, broker, addr, broker_id)
    return Request(RequestCode.QUERY_DATA_VERSION, _version_check, ext, encode_data_version(version))


def register_broker(registration: Registration, *, compressed: bool = False) -> Request[Registered]:
    """103. The registration ends with the connection: keep the client open."""
    from routebook.client.registration import (  # noqa: PLC0415 - needed by brokers only
        encode_registration_body,
        registration_fields,
    )

    body = encode_registration_body(registration.body, compressed=compressed)
    ext = registration_fields(registration, body, compressed=compressed)
    return Request(RequestCode.REGISTER_BROKER, _registered, ext, body)


def unregister_broker(*, cluster: str, broker: str, addr: str, broker_id: int) -> Request[None]:
    """104. The response precedes the change."""
    return Request(RequestCode.UNREGISTER_BROKER, _nothing, _broker(cluster, broker, addr, broker_id))


def heartbeat(*, cluster: str, broker: str, addr: str) -> Request[None]:
    """904. Brokers send it one-way."""
    ext = {"brokerAddr": addr, "brokerName": broker, "clusterName": cluster}
    return Request(RequestCode.BROKER_HEARTBEAT, _nothing, ext)


def _kv(namespace: str, key: str) -> dict[str, str]:
    return {"namespace": namespace, "key": key}


def _broker(cluster: str, broker: str, addr: str, broker_id: int) -> dict[str, str]:
    return {"brokerAddr": addr, "brokerId": str(broker_id), "brokerName": broker, "clusterName": cluster}


def _nothing(_answer: Command) -> None:
    return None


def _topic_names(answer: Command) -> list[str]:
    return decode_topic_list(answer.body).topic_list


def _field(answer: Command, name: str) -> str:
    value = answer.field(name)
    if value is None:
        raise ProtocolError(f"the response has no {name}")
    return value


def _count(name: str) -> Callable[[Command], int]:
    def read(answer: Command) -> int:
        count = int_field(answer, name)
        if count is None:
            raise ProtocolError(f"the response has no number {name}")
        return count

    return read


def _settings(answer: Command) -> dict[str, str]:
    # Java does not escape them, so this is not a .properties file
    try:
        lines = (answer.body or b"").decode().split("\n")
    except UnicodeDecodeError:
        raise ProtocolError("the settings are not UTF-8") from None
    return {key: value for key, equals, value in (line.partition("=") for line in lines) if equals}


def _version_check(answer: Command) -> VersionCheck:
    changed = bool_field(answer, "changed")
    if changed is None:
        raise ProtocolError("the response has no field changed")
    return VersionCheck(changed=changed, version=None if answer.body is None else decode_data_version(answer.body))


def _registered(answer: Command) -> Registered:
    return Registered(
        ha_addr=answer.field("haServerAddr"),
        master_addr=answer.field("masterAddr"),
        order_topics=None if answer.body is None else decode_kv_table(answer.body),
    )
