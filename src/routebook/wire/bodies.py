"""Encodes response bodies in the two JSON profiles of fastjson2 that RocketMQ 5.5.0 uses.

Both: compact, fields in alphabetical order, no nulls in objects and maps, raw UTF-8, escapes only where needed.
- standard: numeric map keys quoted, maps sorted by key (numbers numerically), integers beyond the range of doubles as
  text. For routes, if the client is 4.9.4 or later.
- plain: numeric map keys unquoted (`{0:"a"}` is not JSON, but older clients expect it), maps in table order. For all
  other bodies.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

import msgspec

from routebook.model import (
    BrokerData,
    ClusterInfo,
    DataVersion,
    QueueData,
    TopicList,
    TopicQueueMappingInfo,
    TopicRoute,
)

_V = TypeVar("_V")
_DOUBLE_MAX: Final = 2**53 - 1  # doubles represent all integers up to this
_json = msgspec.json.Encoder().encode


class _PlainBroker(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    broker_addrs: msgspec.Raw
    broker_name: str
    cluster: str
    enable_acting_master: bool
    zone_name: str | None = None


class _PlainMapping(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    bname: str | None = None
    curr_id_map: msgspec.Raw | None = None
    dirty: bool
    epoch: int
    scope: str | None = None
    topic: str | None = None
    total_queues: int


class _PlainRoute(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    broker_datas: list[_PlainBroker]
    filter_server_table: dict[str, list[str]]
    order_topic_conf: str | None = None
    queue_datas: list[QueueData]
    topic_queue_mapping_by_broker: dict[str, _PlainMapping] | None = None


class _PlainClusterInfo(msgspec.Struct, rename="camel", kw_only=True):
    broker_addr_table: dict[str, _PlainBroker]
    cluster_addr_table: dict[str, list[str]]


class _MemberGroup(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    broker_addrs: msgspec.Raw
    broker_name: str | None = None
    cluster: str | None = None


def encode_route(route: TopicRoute, *, standard: bool) -> bytes:
    """TopicRouteData, for 105."""
    mappings = route.topic_queue_mapping_by_broker
    if not standard:
        return _json(
            _PlainRoute(
                broker_datas=[_plain_broker(data) for data in route.broker_datas],
                filter_server_table=route.filter_server_table,
                order_topic_conf=route.order_topic_conf,
                queue_datas=route.queue_datas,
                topic_queue_mapping_by_broker=None
                if mappings is None
                else {name: _plain_mapping(info) for name, info in mappings.items()},
            )
        )
    return _json(
        TopicRoute(
            broker_datas=[_sorted_broker(data) for data in route.broker_datas],
            filter_server_table=_sorted_by_text(route.filter_server_table),
            order_topic_conf=route.order_topic_conf,
            queue_datas=route.queue_datas,
            topic_queue_mapping_by_broker=None
            if mappings is None
            else {name: _sorted_mapping(info) for name, info in _sorted_by_text(mappings).items()},
        )
    )


def encode_cluster_info(info: ClusterInfo) -> bytes:
    """ClusterInfo, for 106; always plain."""
    return _json(
        _PlainClusterInfo(
            broker_addr_table={name: _plain_broker(data) for name, data in info.broker_addr_table.items()},
            cluster_addr_table=info.cluster_addr_table,
        )
    )


def encode_member_group(*, cluster: str | None, broker: str | None, addrs: Mapping[int, str]) -> bytes:
    """GetBrokerMemberGroupResponseBody, for 901; always plain."""
    group = _MemberGroup(broker_addrs=_unquoted_keys(addrs), broker_name=broker, cluster=cluster)
    return _json({"brokerMemberGroup": group})


def encode_topic_list(topics: TopicList) -> bytes:
    """TopicList, for 206, 224, 304, 311, 312 and 313."""
    return _json(topics)


def encode_kv_table(table: Mapping[str, str | None]) -> bytes:
    """KVTable, for 219 and 103; without null values."""
    return _json({"table": {key: value for key, value in table.items() if value is not None}})


def encode_data_version(version: DataVersion) -> bytes:
    """DataVersion, for 322; without a null counter."""
    if version.counter is None:
        return _json({"stateVersion": version.state_version, "timestamp": version.timestamp})
    return _json(version)


def _plain_broker(data: BrokerData) -> _PlainBroker:
    return _PlainBroker(
        broker_addrs=_unquoted_keys(data.broker_addrs),
        broker_name=data.broker_name,
        cluster=data.cluster,
        enable_acting_master=data.enable_acting_master,
        zone_name=data.zone_name,
    )


def _plain_mapping(info: TopicQueueMappingInfo) -> _PlainMapping:
    return _PlainMapping(
        bname=info.bname,
        curr_id_map=None if info.curr_id_map is None else _unquoted_keys(info.curr_id_map),
        dirty=info.dirty,
        epoch=info.epoch,
        scope=info.scope,
        topic=info.topic,
        total_queues=info.total_queues,
    )


def _sorted_broker(data: BrokerData) -> BrokerData:
    if len(data.broker_addrs) < 2:
        return data
    return msgspec.structs.replace(data, broker_addrs=_sorted_by_number(data.broker_addrs))


def _sorted_mapping(info: TopicQueueMappingInfo) -> TopicQueueMappingInfo:
    if abs(info.epoch) > _DOUBLE_MAX:
        info = msgspec.structs.replace(info, epoch=str(info.epoch))  # only for encoding
    if info.curr_id_map is None:
        return info
    return msgspec.structs.replace(info, curr_id_map=_sorted_by_number(info.curr_id_map))


def _unquoted_keys(table: Mapping[int, str] | Mapping[int, int]) -> msgspec.Raw:
    return msgspec.Raw(b"{" + b",".join(b"%d:%b" % (key, _json(table[key])) for key in sorted(table)) + b"}")


def _sorted_by_number(table: Mapping[int, _V]) -> dict[int, _V]:
    return {key: table[key] for key in sorted(table)}


def _sorted_by_text(table: Mapping[str, _V]) -> dict[str, _V]:
    return {key: table[key] for key in _java_sorted(table)}


def _java_sorted(names: Iterable[str]) -> list[str]:
    # Java: compares UTF-16 units, which differ from code points only beyond the basic plane
    return sorted(names, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
