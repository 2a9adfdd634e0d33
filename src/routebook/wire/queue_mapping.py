"""Static-topic mappings as brokers send them: JSON with unquoted numbers as keys of `currIdMap`."""

import re
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import msgspec

from routebook.model import DEFAULT_SCOPE, TopicQueueMappingInfo
from routebook.wire.fastjson.reader import Reader
from routebook.wire.fastjson.typed import Fields, Int32, Int64, decode_bean

T = TypeVar("T")

_BARE_KEYS: Final = re.compile(rb'"currIdMap":\{(-?[0-9]+:-?[0-9]+(?:,-?[0-9]+:-?[0-9]+)*+)\}')
_BARE_KEY: Final = re.compile(rb"(-?[0-9]+):")


class SentMapping(msgspec.Struct, rename="camel", gc=False):
    """Java: TopicQueueMappingInfo, with its defaults."""

    bname: str | None = None
    curr_id_map: dict[Int32, Int32] | msgspec.UnsetType | None = msgspec.UNSET
    dirty: bool = False
    epoch: Int64 = 0
    scope: str | None = DEFAULT_SCOPE
    topic: str | None = None
    total_queues: Int32 = 0

    def settled(self) -> TopicQueueMappingInfo:
        return TopicQueueMappingInfo(
            bname=self.bname,
            curr_id_map={} if isinstance(self.curr_id_map, msgspec.UnsetType) else self.curr_id_map,
            dirty=self.dirty,
            epoch=self.epoch,
            scope=self.scope,
            topic=self.topic,
            total_queues=self.total_queues,
        )


class SentMappingDetail(SentMapping, rename="camel", gc=False):
    """Java: TopicQueueMappingDetail. Not used; declared to reject what Java rejects."""

    hosted_queues: dict[Int32, list["_SentItem | None"]] | None = None


class _SentItem(msgspec.Struct, rename="camel", gc=False):
    """Java: LogicQueueMappingItem."""

    bname: str | None = None
    end_offset: Int64 = 0
    gen: Int32 = 0
    logic_offset: Int64 = 0
    queue_id: Int32 = 0
    start_offset: Int64 = 0
    time_of_end: Int64 = 0
    time_of_start: Int64 = 0


def decode_with_bare_keys(
    decode: Callable[[bytes], T | None], mappings: Callable[[T], Iterable[SentMapping | None]]
) -> Callable[[bytes], T | None]:
    """A strict decoder for texts with unquoted keys in each `currIdMap`; `mappings` are those of a decoded text.

    Java accepts these keys only where it expects the map: if a quoted map was skipped, the text is not strict.
    """

    def decode_quoted(body: bytes) -> T | None:
        if b'"currIdMap":{' not in body:
            return decode(body)
        quoted, count = _BARE_KEYS.subn(_quoted, body)
        sent = decode(quoted)
        decoded = () if sent is None else mappings(sent)
        if count != sum(mapping is not None and bool(mapping.curr_id_map) for mapping in decoded):
            raise msgspec.ValidationError("a currIdMap with unquoted keys in a member that is skipped")
        return sent

    return decode_quoted


def decode_mapping(body: bytes) -> SentMapping | None:
    """Decode a single mapping of a deflated registration."""
    return decode_bean(body, _decode, MAPPING_FIELDS, SentMapping, what="a TopicQueueMappingInfo")


def _quoted(match: re.Match[bytes]) -> bytes:
    # after a backslash it is part of a text, not a name
    if match.string[match.start() - 1 : match.start()] == b"\\":
        return match[0]
    return b'"currIdMap":{' + _BARE_KEY.sub(rb'"\1":', match[1]) + b"}"


def concurrent_int_map(value: Callable[[Reader], object]) -> Callable[[Reader], dict[int, object] | None]:
    """Java: ConcurrentMap<Integer, T>, which cannot contain nulls."""

    def read(reader: Reader) -> dict[int, object] | None:
        found = reader.map_by(Reader.boxed_int32, value)
        if found is None:
            return None
        kept = {key: item for key, item in found.items() if key is not None and item is not None}
        if len(kept) < len(found):
            raise reader.error("a map with numeric keys contains a null")
        return kept

    return read


def _item(reader: Reader) -> object:
    return reader.bean(_ITEM_FIELDS)


def _items(reader: Reader) -> object:
    return reader.list_of(_item)


MAPPING_FIELDS: Final[Fields] = {
    "bname": Reader.string,
    "currIdMap": concurrent_int_map(Reader.boxed_int32),
    "dirty": Reader.boolean,
    "epoch": Reader.int64,
    "scope": Reader.string,
    "topic": Reader.string,
    "totalQueues": Reader.int32,
}
_ITEM_FIELDS: Final[Fields] = {
    "bname": Reader.string,
    "endOffset": Reader.int64,
    "gen": Reader.int32,
    "logicOffset": Reader.int64,
    "queueId": Reader.int32,
    "startOffset": Reader.int64,
    "timeOfEnd": Reader.int64,
    "timeOfStart": Reader.int64,
}
MAPPING_DETAIL_FIELDS: Final[Fields] = {**MAPPING_FIELDS, "hostedQueues": concurrent_int_map(_items)}

_decode = decode_with_bare_keys(msgspec.json.Decoder(SentMapping | None).decode, lambda sent: (sent,))
