"""Decodes the body of a registration (103) in every form that brokers from 3.0 to 5.5 send.

    version >= 37   RegisterBrokerBody: JSON, or deflated (`deflated_body`)
    version <  37   TopicConfigSerializeWrapper: JSON
    no body         no topics, version {0, 0, 0}

10,000 topics are two megabytes of JSON, so there is one typed decode. Only JSON that is not strict goes to the reader
that is as lenient as fastjson2; the unquoted keys that brokers with static topics write are quoted first.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from routebook.codes import VERSION_3_0_11
from routebook.errors import BadRequest, TooMuch
from routebook.model import DataVersion, RegisterBody, TopicConfig, TopicQueueMappingInfo
from routebook.shared_names import shared
from routebook.steps import Steps
from routebook.wire import deflated_body
from routebook.wire.deflated_body import decode_deflated, looks_deflated
from routebook.wire.fastjson.reader import Reader
from routebook.wire.fastjson.typed import STRICT_FAILURES, Fields, decode_bean, decode_strictly
from routebook.wire.queue_mapping import (
    MAPPING_DETAIL_FIELDS,
    MAPPING_FIELDS,
    SentMapping,
    SentMappingDetail,
    decode_with_bare_keys,
)
from routebook.wire.request_bodies import DATA_VERSION_FIELDS, SentDataVersion
from routebook.wire.topic_blocks import TopicBlock
from routebook.wire.topic_cache import PLACEHOLDER, SentTopic, TopicCache, TopicTable

MAX_TOPICS: Final = 100_000
MAX_INFLATED: Final = 64 << 20


class DecodedBody(NamedTuple):
    """A body, its topics whose names have not been checked yet, and its table if it was read with the cache."""

    body: RegisterBody
    unchecked: Sequence[TopicConfig]
    table: TopicTable | None


def decode_register_body(
    body: bytes | None,
    *,
    version: int,
    compressed: bool,
    max_topics: int = MAX_TOPICS,
    max_inflated: int = MAX_INFLATED,
    now_ms: int,
) -> RegisterBody:
    """Raises BadRequest, with the reason, where Java fails to decode the body, and in the cases named below.

    A topic without a name or a null mapping is rejected: Java answers 0 and stores half of the registration.
    """
    if version < 0:
        raise BadRequest(f"version {version} is not a RocketMQ version")
    with_filters = version >= VERSION_3_0_11
    if not body:
        empty = DataVersion(counter=0, state_version=0, timestamp=0)
        return RegisterBody(topics=(), data_version=empty, mappings={}, filter_servers=() if with_filters else None)
    if not with_filters:
        old = decode_bean(body, _decode_old, _OLD_FIELDS, _SentTopics, what="a TopicConfigSerializeWrapper")
        return _settled(old, None, max_topics=max_topics, now_ms=now_ms)
    if _is_deflated(body, compressed=compressed):
        return decode_deflated(body, version=version, max_topics=max_topics, max_inflated=max_inflated, now_ms=now_ms)
    sent = decode_bean(body, _decode, _BODY_FIELDS, _SentBody, what="a RegisterBrokerBody")
    if sent is None:
        raise BadRequest("the body of the registration is null")
    return _settled(sent.wrapper, sent.filter_server_list, max_topics=max_topics, now_ms=now_ms)


def decode_in_steps(
    body: bytes | None,
    *,
    version: int,
    compressed: bool,
    max_topics: int,
    max_inflated: int,
    now_ms: int,
    cache: TopicCache,
    max_name_length: int,
    previous: Sequence[TopicBlock] = (),
) -> Steps[DecodedBody]:
    """Decode, in steps, the topics that are neither cached nor in the `previous` table of this or a similar broker."""
    if body and version >= VERSION_3_0_11 and not _is_deflated(body, compressed=compressed):
        table = yield from cache.read_in_steps(body, max_name_length=max_name_length, previous=previous)
        if table is not None and len(table.topics) <= max_topics and (found := _with_table(table, now_ms)) is not None:
            return DecodedBody(found, table.uncached, table)
    if body and version >= VERSION_3_0_11 and _is_deflated(body, compressed=compressed):
        whole = yield from deflated_body.decode_in_steps(
            body, version=version, max_topics=max_topics, max_inflated=max_inflated, now_ms=now_ms
        )
    else:
        whole = decode_register_body(
            body,
            version=version,
            compressed=compressed,
            max_topics=max_topics,
            max_inflated=max_inflated,
            now_ms=now_ms,
        )
    return DecodedBody(whole, whole.topics or (), None)


def _is_deflated(body: bytes, *, compressed: bool) -> bool:
    # A 5.5.0 broker with compressedRegister=true deflates the body and still sends compressed=false.
    return compressed or looks_deflated(body)


def _with_table(table: TopicTable, now_ms: int) -> RegisterBody | None:
    """The rest of the body, decoded, with these topics; None if the body has to be decoded as a whole."""
    try:
        sent = decode_strictly(table.rest, _decode)
    except STRICT_FAILURES:
        return None
    if sent is None or sent.wrapper is None or sent.wrapper.topic_config_table != PLACEHOLDER:
        return None
    sent.wrapper.topic_config_table = {}
    settled = _settled(sent.wrapper, sent.filter_server_list, max_topics=0, now_ms=now_ms)
    return msgspec.structs.replace(settled, topics=table.topics, has_unique_names=True)


class _SentTopics(msgspec.Struct, rename="camel"):
    """Java: TopicConfigSerializeWrapper."""

    topic_config_table: dict[str, SentTopic | None] | None = msgspec.field(default_factory=dict)
    data_version: SentDataVersion | None = msgspec.field(default_factory=SentDataVersion)


class _SentTopicsAndMappings(_SentTopics, rename="camel"):
    """Java: TopicConfigAndMappingSerializeWrapper."""

    mapping_data_version: SentDataVersion | None = None
    topic_queue_mapping_detail_map: dict[str, SentMappingDetail | None] | None = None
    topic_queue_mapping_info_map: dict[str, SentMapping | None] | None = None


class _SentBody(msgspec.Struct, rename="camel"):
    """Java: RegisterBrokerBody."""

    filter_server_list: list[str | None] | None = msgspec.field(default_factory=list)
    wrapper: _SentTopicsAndMappings | None = msgspec.field(
        default_factory=_SentTopicsAndMappings, name="topicConfigSerializeWrapper"
    )


def _settled(
    sent: _SentTopics | None, filters: list[str | None] | None, *, max_topics: int, now_ms: int
) -> RegisterBody:
    filter_servers = None if filters is None else tuple(name for name in filters if name is not None)
    if sent is None:
        return RegisterBody(topics=None, data_version=None, mappings={}, filter_servers=filter_servers)
    mappings = sent.topic_queue_mapping_info_map if isinstance(sent, _SentTopicsAndMappings) else None
    return RegisterBody(
        topics=None if sent.topic_config_table is None else _topics(sent.topic_config_table, max_topics),
        data_version=None if sent.data_version is None else sent.data_version.settled(now_ms),
        mappings={} if mappings is None else _mappings(mappings),
        filter_servers=filter_servers,
    )


def _topics(table: Mapping[str, SentTopic | None], max_topics: int) -> tuple[TopicConfig, ...]:
    if len(table) > max_topics:
        raise TooMuch(
            f"{len(table)} topics in one registration; the limit is {max_topics}",
            limit="topics_per_registration",
        )
    topics: list[TopicConfig] = []
    for key, sent in table.items():
        if sent is None:
            raise BadRequest(f"topicConfigTable: topic {key!r} is null")
        if sent.topic_name is None:
            raise BadRequest(f"topicConfigTable: topic {key!r} has no topicName")
        topics.append(sent.named(sent.topic_name))
    return tuple(topics)


def _mappings(sent: Mapping[str, SentMapping | None]) -> dict[str, TopicQueueMappingInfo]:
    mappings: dict[str, TopicQueueMappingInfo] = {}
    for topic, mapping in sent.items():
        if mapping is None:
            raise BadRequest(f"topicQueueMappingInfoMap: the mapping of topic {topic!r} is null")
        mappings[shared(topic)] = mapping.settled()
    return mappings


def _filter_type(reader: Reader) -> object:
    return reader.enum(("SINGLE_TAG", "MULTI_TAG"))


_TOPIC_FIELDS: Final[Fields] = {
    "attributes": Reader.text_map,
    "order": Reader.boolean,
    "perm": Reader.int32,
    "readQueueNums": Reader.int32,
    "topicFilterType": _filter_type,
    "topicName": Reader.string,
    "topicSysFlag": Reader.int32,
    "writeQueueNums": Reader.int32,
}
_OLD_FIELDS: Final[Fields] = {
    "dataVersion": lambda reader: reader.bean(DATA_VERSION_FIELDS),
    "topicConfigTable": lambda reader: reader.map_of(lambda topic: topic.bean(_TOPIC_FIELDS), concurrent=True),
}
_WRAPPER_FIELDS: Final[Fields] = {
    **_OLD_FIELDS,
    "mappingDataVersion": lambda reader: reader.bean(DATA_VERSION_FIELDS),
    "topicQueueMappingDetailMap": lambda reader: reader.map_of(lambda detail: detail.bean(MAPPING_DETAIL_FIELDS)),
    "topicQueueMappingInfoMap": lambda reader: reader.map_of(lambda mapping: mapping.bean(MAPPING_FIELDS)),
}
_BODY_FIELDS: Final[Fields] = {
    "filterServerList": Reader.member_strings,
    "topicConfigSerializeWrapper": lambda reader: reader.bean(_WRAPPER_FIELDS),
}


def _sent_mappings(sent: _SentBody) -> Iterator[SentMapping | None]:
    for table in (
        ()
        if sent.wrapper is None
        else (sent.wrapper.topic_queue_mapping_info_map, sent.wrapper.topic_queue_mapping_detail_map)
    ):
        yield from (table or {}).values()


_decode = decode_with_bare_keys(msgspec.json.Decoder(_SentBody | None).decode, _sent_mappings)
_decode_old = msgspec.json.Decoder(_SentTopics | None).decode
