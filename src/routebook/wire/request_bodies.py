"""Decodes the small JSON request bodies of 322 and 217, and the KV file."""

from typing import Final

import msgspec

from routebook.errors import BadRequest, TooMuch
from routebook.model import DataVersion, QueueData
from routebook.wire.fastjson.cursor import JsonError
from routebook.wire.fastjson.reader import Reader
from routebook.wire.fastjson.typed import Fields, Int32, Int64, decode_bean
from routebook.wire.queue_mapping import MAPPING_FIELDS, SentMapping, decode_with_bare_keys

_MAX_DATA_VERSION_BYTES: Final = 4 << 10  # brokers send less than 100
_MAX_ROUTE_BYTES: Final = 1 << 20  # the queues of a topic on 10,000 brokers


class SentDataVersion(msgspec.Struct, rename="camel", gc=False):
    """A DataVersion as peers send it. Java: a missing timestamp is the current time."""

    counter: Int64 | None = 0
    state_version: Int64 = 0
    timestamp: Int64 | msgspec.UnsetType = msgspec.UNSET

    def settled(self, now_ms: int) -> DataVersion:
        timestamp = now_ms if isinstance(self.timestamp, msgspec.UnsetType) else self.timestamp
        return DataVersion(counter=self.counter, state_version=self.state_version, timestamp=timestamp)


DATA_VERSION_FIELDS: Final[Fields] = {
    "counter": Reader.atomic_int64,
    "stateVersion": Reader.int64,
    "timestamp": Reader.int64,
}


def decode_data_version(body: bytes | None, *, now_ms: int) -> DataVersion | None:
    """Decode the body of 322; None if it is missing or null."""
    if not body:
        return None
    if len(body) > _MAX_DATA_VERSION_BYTES:
        raise TooMuch(f"a DataVersion of {len(body)} bytes; the limit is {_MAX_DATA_VERSION_BYTES}", limit="loose_json")
    sent = decode_bean(body, _decode_data_version, DATA_VERSION_FIELDS, SentDataVersion, what="a DataVersion")
    return None if sent is None else sent.settled(now_ms)


def decode_topic_route(body: bytes | None) -> list[QueueData] | None:
    """Decode the queues in the body of 217; None if it is missing or null."""
    if not body:
        return None
    if len(body) > _MAX_ROUTE_BYTES:
        raise TooMuch(f"a TopicRouteData of {len(body)} bytes; the limit is {_MAX_ROUTE_BYTES}", limit="route_bytes")
    route = decode_bean(body, _decode_route, _ROUTE_FIELDS, _SentRoute, what="a TopicRouteData")
    if route is None or route.queue_datas is None:
        return None
    queues: list[QueueData] = []
    for sent in route.queue_datas:
        if sent is None or sent.broker_name is None:
            raise BadRequest("queueDatas contains an entry without brokerName")
        queues.append(
            QueueData(
                broker_name=sent.broker_name,
                perm=sent.perm,
                read_queue_nums=sent.read_queue_nums,
                topic_sys_flag=sent.topic_sys_flag,
                write_queue_nums=sent.write_queue_nums,
            )
        )
    return queues


def decode_kv_table(text: bytes) -> dict[str, dict[str, str | None]]:
    """Decode the KV file. A null namespace counts as missing, as in Java's answers.

    Raises BadRequest with the line and column of the problem.
    """
    text = text.removeprefix(b"\xef\xbb\xbf")
    if not text:
        return {}
    try:
        text.decode()
    except UnicodeDecodeError as why:  # Java: replaces such bytes, and writes the replacements back
        raise BadRequest(str(JsonError("a byte that is not UTF-8", data=text, pos=why.start))) from why
    found = decode_bean(
        text,
        _decode_kv_file,
        _KV_FIELDS,
        _KvFile,
        what="a table of configurations",
        subject="the file",
        max_loose=len(text),
    )
    if found is None or found.config_table is None:
        raise BadRequest('no "configTable" at line 1, column 1')
    return {namespace: table for namespace, table in found.config_table.items() if table is not None}


class _SentQueueData(msgspec.Struct, rename="camel", gc=False):
    broker_name: str | None = None
    perm: Int32 = 0
    read_queue_nums: Int32 = 0
    topic_sys_flag: Int32 = 0
    write_queue_nums: Int32 = 0


class _SentBrokerData(msgspec.Struct, rename="camel"):
    broker_addrs: dict[Int64 | None, str | None] | None = None
    broker_name: str | None = None
    cluster: str | None = None
    enable_acting_master: bool = False
    zone_name: str | None = None


class _SentRoute(msgspec.Struct, rename="camel"):
    """Java: TopicRouteData. All fields but the queues are declared only to reject what Java rejects."""

    queue_datas: list[_SentQueueData | None] | None = msgspec.field(default_factory=list)
    broker_datas: list[_SentBrokerData | None] | None = None
    filter_server_table: dict[str, list[str | None] | None] | None = None
    order_topic_conf: str | None = None
    topic_queue_mapping_by_broker: dict[str, SentMapping | None] | None = None


class _KvFile(msgspec.Struct, rename="camel"):
    config_table: dict[str, dict[str, str | None] | None] | None = None


_QUEUE_FIELDS: Final[Fields] = {
    "brokerName": Reader.string,
    "perm": Reader.int32,
    "readQueueNums": Reader.int32,
    "topicSysFlag": Reader.int32,
    "writeQueueNums": Reader.int32,
}
_BROKER_FIELDS: Final[Fields] = {
    "brokerAddrs": lambda reader: reader.map_by(Reader.boxed_int64, Reader.string),
    "brokerName": Reader.string,
    "cluster": Reader.string,
    "enableActingMaster": Reader.boolean,
    "zoneName": Reader.string,
}
_ROUTE_FIELDS: Final[Fields] = {
    "brokerDatas": lambda reader: reader.list_of(lambda broker: broker.bean(_BROKER_FIELDS)),
    "filterServerTable": lambda reader: reader.map_of(Reader.strings),
    "orderTopicConf": Reader.string,
    "queueDatas": lambda reader: reader.list_of(lambda queue: queue.bean(_QUEUE_FIELDS)),
    "topicQueueMappingByBroker": lambda reader: reader.map_of(lambda mapping: mapping.bean(MAPPING_FIELDS)),
}
_KV_FIELDS: Final[Fields] = {"configTable": lambda reader: reader.map_of(Reader.text_map)}

_decode_data_version = msgspec.json.Decoder(SentDataVersion | None).decode
_decode_route = decode_with_bare_keys(
    msgspec.json.Decoder(_SentRoute | None).decode, lambda sent: (sent.topic_queue_mapping_by_broker or {}).values()
)
_decode_kv_file = msgspec.json.Decoder(_KvFile | None).decode
