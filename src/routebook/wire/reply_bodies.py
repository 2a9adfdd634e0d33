"""Decodes response bodies of a NameServer, for clients: both JSON profiles, of any server since 4.0.

Servers before 4.9.4 always, and all servers for 106 and 901, write unquoted numbers as map keys (`{0:"a"}`), which is
not JSON. A strict decode is tried first; if it fails, the keys are quoted and the body is decoded again. Missing fields
get Java's defaults, a null in a list of names is dropped (a Java server may list a broker without a name), and unknown
fields are ignored.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final, NoReturn, TypeVar

import msgspec

from routebook.errors import ProtocolError
from routebook.model import (
    BrokerData,
    ClusterInfo,
    DataVersion,
    MemberGroup,
    QueueData,
    TopicList,
    TopicQueueMappingInfo,
    TopicRoute,
)

_T = TypeVar("_T")
_GLOBAL_SCOPE: Final = "__global__"  # Java: MixAll.METADATA_SCOPE_GLOBAL, the default scope
# A string may be unterminated: otherwise a body of many quotes would take quadratic time.
_STRING_OR_BARE_KEY: Final = re.compile(rb'("(?:[^"\\]++|\\.)*+"?+)|([{,]\s*+)(-?\d++)(?=\s*+:)', re.DOTALL)


class _Broker(msgspec.Struct, rename="camel"):
    broker_addrs: dict[int, str | None] | None = None
    broker_name: str | None = None
    cluster: str | None = None
    enable_acting_master: bool = False  # not present before 5.0
    zone_name: str | None = None


class _Queue(msgspec.Struct, rename="camel"):
    broker_name: str | None = None
    perm: int = 0
    read_queue_nums: int = 0
    topic_sys_flag: int | None = None
    topic_syn_flag: int = 0  # its name before 4.8
    write_queue_nums: int = 0


_Digits = Annotated[str, msgspec.Meta(pattern=r"^-?[0-9]{1,19}$")]  # a number that is too large for a double


class _Mapping(msgspec.Struct, rename="camel"):
    bname: str | None = None
    curr_id_map: dict[int, int] | None = None
    dirty: bool = False
    epoch: int | _Digits = 0
    scope: str | None = _GLOBAL_SCOPE
    topic: str | None = None
    total_queues: int = 0


class _Route(msgspec.Struct, rename="camel"):
    broker_datas: list[_Broker] | None = None
    filter_server_table: dict[str, list[str | None] | None] | None = None
    order_topic_conf: str | None = None
    queue_datas: list[_Queue] | None = None
    topic_queue_mapping_by_broker: dict[str, _Mapping] | None = None


class _Cluster(msgspec.Struct, rename="camel"):
    broker_addr_table: dict[str, _Broker] | None = None
    cluster_addr_table: dict[str, list[str | None] | None] | None = None


class _Topics(msgspec.Struct, rename="camel"):
    broker_addr: str | None = None
    topic_list: list[str | None] | None = None


class _Table(msgspec.Struct):
    table: dict[str, str | None] | None = None


class _Group(msgspec.Struct, rename="camel"):
    broker_addrs: dict[int, str | None] | None = None
    broker_name: str | None = None
    cluster: str | None = None


class _GroupBody(msgspec.Struct, rename="camel"):
    broker_member_group: _Group | None = None


class _Version(msgspec.Struct, rename="camel"):
    counter: int | None = None
    state_version: int = 0  # not present before 5.0
    timestamp: int = 0


_route = msgspec.json.Decoder(_Route, strict=False)
_cluster = msgspec.json.Decoder(_Cluster, strict=False)
_topics = msgspec.json.Decoder(_Topics, strict=False)
_table = msgspec.json.Decoder(_Table, strict=False)
_group = msgspec.json.Decoder(_GroupBody, strict=False)
_version = msgspec.json.Decoder(_Version, strict=False)


def decode_route(body: bytes | None) -> TopicRoute:
    """TopicRouteData, the answer to 105."""
    route = _read(_route, body, "route")
    mappings = route.topic_queue_mapping_by_broker
    return TopicRoute(
        broker_datas=[_broker(data) for data in route.broker_datas or ()],
        filter_server_table={addr: _names(servers) for addr, servers in (route.filter_server_table or {}).items()},
        order_topic_conf=route.order_topic_conf,
        queue_datas=[_queue(data) for data in route.queue_datas or ()],
        topic_queue_mapping_by_broker=None if mappings is None else {n: _mapping(m) for n, m in mappings.items()},
    )


def decode_cluster_info(body: bytes | None) -> ClusterInfo:
    """ClusterInfo, the answer to 106."""
    info = _read(_cluster, body, "cluster table")
    return ClusterInfo(
        broker_addr_table={name: _broker(data) for name, data in (info.broker_addr_table or {}).items()},
        cluster_addr_table={cluster: _names(names) for cluster, names in (info.cluster_addr_table or {}).items()},
    )


def decode_topic_list(body: bytes | None) -> TopicList:
    """TopicList, the answer to 206, 224, 304, 311, 312 and 313."""
    topics = _read(_topics, body, "topic list")
    return TopicList(broker_addr=topics.broker_addr, topic_list=_names(topics.topic_list))


def decode_kv_table(body: bytes | None) -> dict[str, str]:
    """KVTable, the answer to 219 and to a registration."""
    table = _read(_table, body, "KV table").table or {}
    return {key: value for key, value in table.items() if value is not None}


def decode_member_group(body: bytes | None) -> MemberGroup:
    """GetBrokerMemberGroupResponseBody, the answer to 901."""
    group = _read(_group, body, "member group").broker_member_group or _Group()
    return MemberGroup(
        cluster=group.cluster or "", broker_name=group.broker_name or "", broker_addrs=_addrs(group.broker_addrs)
    )


def decode_data_version(body: bytes | None) -> DataVersion:
    """DataVersion, in the answer to 322."""
    version = _read(_version, body, "data version")
    return DataVersion(counter=version.counter, state_version=version.state_version, timestamp=version.timestamp)


def _read(decoder: "msgspec.json.Decoder[_T]", body: bytes | None, what: str) -> _T:
    if body is None:
        raise ProtocolError(f"the {what} is missing: the answer has no body")
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as strict_error:
        quoted = _STRING_OR_BARE_KEY.sub(_quote, body)
        if quoted == body:
            _reject(what, strict_error)
    try:
        return decoder.decode(quoted)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _reject(what, error)


def _reject(what: str, error: Exception) -> NoReturn:
    raise ProtocolError(f"the {what} cannot be decoded: {error}") from None


def _quote(found: re.Match[bytes]) -> bytes:
    string: bytes | None = found[1]
    return string if string is not None else b'%b"%b"' % (found[2], found[3])


def _broker(data: _Broker) -> BrokerData:
    return BrokerData(
        broker_addrs=_addrs(data.broker_addrs),
        broker_name=data.broker_name or "",
        cluster=data.cluster or "",
        enable_acting_master=data.enable_acting_master,
        zone_name=data.zone_name,
    )


def _queue(data: _Queue) -> QueueData:
    return QueueData(
        broker_name=data.broker_name or "",
        perm=data.perm,
        read_queue_nums=data.read_queue_nums,
        topic_sys_flag=data.topic_syn_flag if data.topic_sys_flag is None else data.topic_sys_flag,
        write_queue_nums=data.write_queue_nums,
    )


def _mapping(info: _Mapping) -> TopicQueueMappingInfo:
    return TopicQueueMappingInfo(
        bname=info.bname,
        curr_id_map=info.curr_id_map,
        dirty=info.dirty,
        epoch=int(info.epoch),
        scope=info.scope,
        topic=info.topic,
        total_queues=info.total_queues,
    )


def _addrs(table: Mapping[int, str | None] | None) -> dict[int, str]:
    return {broker_id: addr for broker_id, addr in (table or {}).items() if addr is not None}


def _names(names: list[str | None] | None) -> list[str]:
    return [name for name in names or () if name is not None]
