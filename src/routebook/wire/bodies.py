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
from msgspec.structs import replace

from routebook.model import (
    BrokerData,
    ClusterInfo,
    DataVersion,
    TopicList,
    TopicQueueMappingInfo,
    TopicRoute,
)

_V = TypeVar("_V")
_DOUBLE_MAX: Final = 2**53 - 1  # doubles represent all integers up to this
_json = msgspec.json.Encoder().encode


def encode_route(route: TopicRoute, *, standard: bool) -> bytes:
    """TopicRouteData, for 105."""
    brokers, mappings = route.broker_datas, route.topic_queue_mapping_by_broker
    if standard:
        return _json(
            replace(
                route,
                broker_datas=[_sorted_broker(data) for data in brokers],
                filter_server_table=_sorted_by_text(route.filter_server_table),
                topic_queue_mapping_by_broker=None
                if mappings is None
                else {name: _sorted_mapping(info) for name, info in _sorted_by_text(mappings).items()},
            )
        )
    return _json(
        replace(
            route,
            broker_datas=[_plain_broker(data) for data in brokers],
            topic_queue_mapping_by_broker=None
            if mappings is None
            else {name: _plain_mapping(info) for name, info in mappings.items()},
        )
    )


def encode_cluster_info(info: ClusterInfo) -> bytes:
    """ClusterInfo, for 106; always plain."""
    table = {name: _plain_broker(data) for name, data in info.broker_addr_table.items()}
    return _json(replace(info, broker_addr_table=table))


def encode_member_group(*, cluster: str | None, broker: str | None, addrs: Mapping[int, str]) -> bytes:
    """GetBrokerMemberGroupResponseBody, for 901; always plain."""
    group = {"brokerAddrs": _unquoted_keys(addrs), "brokerName": broker, "cluster": cluster}
    return _json({"brokerMemberGroup": {name: value for name, value in group.items() if value is not None}})


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


# The encoder writes what a field contains, whatever its declared type: these values are made only to be encoded.


def _plain_broker(data: BrokerData) -> BrokerData:
    return replace(data, broker_addrs=_unquoted_keys(data.broker_addrs))


def _plain_mapping(info: TopicQueueMappingInfo) -> TopicQueueMappingInfo:
    return info if info.curr_id_map is None else replace(info, curr_id_map=_unquoted_keys(info.curr_id_map))


def _sorted_broker(data: BrokerData) -> BrokerData:
    return data if len(data.broker_addrs) < 2 else replace(data, broker_addrs=_sorted_by_number(data.broker_addrs))


def _sorted_mapping(info: TopicQueueMappingInfo) -> TopicQueueMappingInfo:
    if abs(info.epoch) > _DOUBLE_MAX:
        info = replace(info, epoch=str(info.epoch))
    return info if info.curr_id_map is None else replace(info, curr_id_map=_sorted_by_number(info.curr_id_map))


def _unquoted_keys(table: Mapping[int, str] | Mapping[int, int]) -> msgspec.Raw:
    return msgspec.Raw(b"{" + b",".join(b"%d:%b" % (key, _json(table[key])) for key in sorted(table)) + b"}")


def _sorted_by_number(table: Mapping[int, _V]) -> dict[int, _V]:
    return {key: table[key] for key in sorted(table)}


def _sorted_by_text(table: Mapping[str, _V]) -> dict[str, _V]:
    return {key: table[key] for key in _java_sorted(table)}


def _java_sorted(names: Iterable[str]) -> list[str]:
    # Java: compares UTF-16 units, which differ from code points only beyond the basic plane
    return sorted(names, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
