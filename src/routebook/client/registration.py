"""Encodes a broker's registration (103): header fields, and the body as JSON or deflated.

deflated, inside one zlib stream, all big-endian:
    int32 length, DataVersion as JSON
    int32 count, then for each topic   int32 length, "name readQueues writeQueues perm filterType attributes"
    int32 length, filter servers as a JSON list
    int32 count, then for each mapping int32 length, TopicQueueMappingInfo as JSON
"""

import zlib
from struct import Struct
from typing import Final

import msgspec

from routebook.model import DataVersion, RegisterBody, Registration, TopicQueueMappingInfo
from routebook.wire.bodies import encode_data_version

_INT32: Final = Struct(">i")
_json = msgspec.json.Encoder().encode


class _Topic(msgspec.Struct, rename="camel", kw_only=True):
    """Java: TopicConfig, with the fields that a NameServer ignores."""

    attributes: dict[str, str]
    order: bool = False
    perm: int
    read_queue_nums: int
    topic_filter_type: str = "SINGLE_TAG"
    topic_name: str
    topic_sys_flag: int
    write_queue_nums: int


class _Wrapper(msgspec.Struct, rename="camel", kw_only=True):
    """Java: TopicConfigAndMappingSerializeWrapper."""

    data_version: DataVersion | None
    mapping_data_version: DataVersion
    topic_config_table: dict[str, _Topic]
    topic_queue_mapping_detail_map: dict[str, str]
    topic_queue_mapping_info_map: dict[str, TopicQueueMappingInfo]


class _Body(msgspec.Struct, rename="camel", kw_only=True):
    """Java: RegisterBrokerBody."""

    filter_server_list: tuple[str, ...]
    topic_config_serialize_wrapper: _Wrapper


def registration_fields(registration: Registration, body: bytes, *, compressed: bool) -> dict[str, str]:
    """Return the extFields of a registration with this body, as a 5.5.0 broker sends them."""
    fields = {
        "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF),
        "brokerAddr": registration.addr,
        "brokerId": str(registration.broker_id),
        "brokerName": registration.broker,
        "clusterName": registration.cluster,
        "compressed": "true" if compressed else "false",
    }
    if registration.ha_addr is not None:
        fields["haServerAddr"] = registration.ha_addr
    if registration.timeout_ms is not None:
        fields["heartbeatTimeoutMillis"] = str(registration.timeout_ms)
    if registration.acting_master is not None:
        fields["enableActingMaster"] = "true" if registration.acting_master else "false"
    if registration.zone is not None:
        fields["__ZONE_NAME"] = registration.zone
    return fields


def encode_registration_body(body: RegisterBody, *, compressed: bool = False) -> bytes:
    """Java: RegisterBrokerBody.encode. The deflated form omits the system flag of topics."""
    return _deflated(body) if compressed else _plain(body)


def _plain(body: RegisterBody) -> bytes:
    version = body.data_version or _NO_VERSION
    return _json(
        _Body(
            filter_server_list=body.filter_servers or (),
            topic_config_serialize_wrapper=_Wrapper(
                data_version=version,
                mapping_data_version=_NO_VERSION,
                topic_config_table={
                    topic.topic_name: _Topic(attributes={}, **msgspec.structs.asdict(topic))
                    for topic in body.topics or ()
                },
                topic_queue_mapping_detail_map={},
                topic_queue_mapping_info_map=body.mappings,
            ),
        )
    )


def _deflated(body: RegisterBody) -> bytes:
    parts = [_sized(encode_data_version(body.data_version or _NO_VERSION)), _INT32.pack(len(body.topics or ()))]
    for topic in body.topics or ():
        text = f"{topic.topic_name} {topic.read_queue_nums} {topic.write_queue_nums} {topic.perm} SINGLE_TAG {{}}"
        parts.append(_sized(text.encode()))
    parts.append(_sized(_json(body.filter_servers or ())))
    parts.append(_INT32.pack(len(body.mappings)))
    parts += [_sized(_json(info)) for info in body.mappings.values()]
    return zlib.compress(b"".join(parts), 9)


_NO_VERSION: Final = DataVersion(counter=0, state_version=0, timestamp=0)


def _sized(data: bytes) -> bytes:
    return _INT32.pack(len(data)) + data
