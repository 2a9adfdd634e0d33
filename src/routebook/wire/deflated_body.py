"""Decodes the deflated form of a RegisterBrokerBody: a zlib stream of

int32 length | DataVersion JSON
int32 topics | each: int32 length | `name readQueues writeQueues perm filterType attributes`
int32 length | filter servers, a JSON list of text
int32 mappings | each: int32 length | TopicQueueMappingInfo JSON        only if the sender is 5.0.0 or later
"""

import re
import zlib
from struct import Struct
from typing import Final

import msgspec

from routebook.codes import VERSION_5_0_0
from routebook.errors import BadRequest, TooMuch
from routebook.model import RegisterBody, TopicConfig, TopicQueueMappingInfo
from routebook.shared_names import shared
from routebook.steps import Steps, finish
from routebook.wire.fastjson.cursor import JsonError
from routebook.wire.fastjson.reader import Reader
from routebook.wire.fastjson.typed import MAX_LOOSE_BYTES, STRICT_FAILURES
from routebook.wire.java_text import decode_utf8
from routebook.wire.queue_mapping import decode_mapping
from routebook.wire.request_bodies import decode_data_version

_INT32: Final = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_INFLATED_PER_STEP: Final = 256 << 10
_TOPICS_PER_STEP: Final = 64
_MAX_RATIO: Final = 100  # tables of topics with equal attributes reach 45
_MIN_INFLATED: Final = 64 << 10  # allowed at any ratio
_unpack_int32 = Struct(">i").unpack_from
_decode_names = msgspec.json.Decoder(list[str | None] | None).decode


def looks_deflated(body: bytes) -> bool:
    """Whether the body starts like a zlib stream, which no JSON text does."""
    return len(body) >= 2 and body[0] == 0x78 and (body[0] << 8 | body[1]) % 31 == 0


def decode_deflated(body: bytes, *, version: int, max_topics: int, max_inflated: int, now_ms: int) -> RegisterBody:
    """Raises BadRequest where Java fails to decode the body, and if a limit is exceeded."""
    return finish(
        decode_in_steps(body, version=version, max_topics=max_topics, max_inflated=max_inflated, now_ms=now_ms)
    )


def decode_in_steps(
    body: bytes, *, version: int, max_topics: int, max_inflated: int, now_ms: int
) -> Steps[RegisterBody]:
    """The same in steps."""
    inflated = yield from _inflate(body, max_inflated)
    parts = _Parts(inflated)
    data_version = decode_data_version(parts.take("the DataVersion"), now_ms=now_ms)
    topics: dict[str, TopicConfig] = {}
    count = parts.count("topics")
    if count > max_topics:
        raise TooMuch(
            f"{count} topics in one registration; the limit is {max_topics}",
            limit="topics_per_registration",
        )
    for number in range(count):
        if number % _TOPICS_PER_STEP == 0:
            yield
        topic = _topic(parts.take("a topic"))
        topics[topic.topic_name] = topic
    filters = _filter_servers(parts.take("the filter servers"))
    mappings: dict[str, TopicQueueMappingInfo] = {}
    if version >= VERSION_5_0_0:
        for number in range(parts.count("mappings")):
            if number % _TOPICS_PER_STEP == 0:
                yield
            mapping = decode_mapping(parts.take("a mapping"))
            if mapping is None or mapping.topic is None:
                raise BadRequest("a mapping in the deflated body has no topic")
            mappings[shared(mapping.topic)] = mapping.settled()
    return RegisterBody(
        topics=tuple(topics.values()), data_version=data_version, mappings=mappings, filter_servers=filters
    )


def inflate(body: bytes, *, max_inflated: int) -> bytes:
    """The content of the stream, up to the limit and _MAX_RATIO times its size. Java: ignores bytes after it."""
    return finish(_inflate(body, max_inflated))


def _inflate(body: bytes, max_inflated: int) -> Steps[bytes]:
    max_inflated = min(max_inflated, max(_MIN_INFLATED, _MAX_RATIO * len(body)))
    stream = zlib.decompressobj()
    inflated, rest = bytearray(), body
    while not stream.eof:
        try:
            piece = stream.decompress(rest, _INFLATED_PER_STEP)
        except zlib.error as why:
            raise BadRequest(f"the body is not a zlib stream: {why}") from why
        inflated += piece
        if len(inflated) > max_inflated:
            raise TooMuch(f"the body inflates to more than {max_inflated} bytes", limit="inflated_bytes")
        rest = stream.unconsumed_tail
        if not piece and not rest and not stream.eof:
            raise BadRequest("the zlib stream of the body is truncated")
        yield
    return bytes(inflated)


class _Parts:
    """Reads length-prefixed parts; each length is checked against the remaining bytes."""

    __slots__ = ("_data", "_pos")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._pos = 0

    def count(self, what: str) -> int:
        """The number of parts that follow, at least four bytes each. Java: a negative number counts as 0."""
        number = self._int(what)
        if number * 4 > len(self._data) - self._pos:
            raise BadRequest(f"the deflated body announces {number} {what}, more than it contains")
        return max(number, 0)

    def take(self, what: str) -> bytes:
        length = self._int(what)
        if not 0 <= length <= len(self._data) - self._pos:
            raise BadRequest(f"the deflated body announces {length} bytes for {what}, more than it contains")
        self._pos += length
        return self._data[self._pos - length : self._pos]

    def _int(self, what: str) -> int:
        if len(self._data) - self._pos < 4:
            raise BadRequest(f"the deflated body ends before {what}")
        self._pos += 4
        number: int = _unpack_int32(self._data, self._pos - 4)[0]
        return number


def _topic(part: bytes) -> TopicConfig:
    text = decode_utf8(part)
    words = text.split(" ")
    while words and not words[-1]:
        words.pop()  # Java: String.split drops empty words at the end
    if len(words) < 5 or words[4] not in ("SINGLE_TAG", "MULTI_TAG"):
        raise BadRequest(f"not a topic: {text[:100]!r}")
    return TopicConfig(
        topic_name=shared(words[0]),
        perm=_int32(words[3], text),
        read_queue_nums=_int32(words[1], text),
        write_queue_nums=_int32(words[2], text),
    )


def _int32(word: str, text: str) -> int:
    if _INT32.fullmatch(word):
        number = int(word)
        if -(1 << 31) <= number < 1 << 31:
            return number
    raise BadRequest(f"not a topic, because {word[:20]!r} is not a number: {text[:100]!r}")


def _filter_servers(part: bytes) -> tuple[str, ...] | None:
    """Java: null stays null, and an invalid list counts as empty."""
    try:
        names = _decode_names(part)
    except STRICT_FAILURES:
        names = _read_names(part)
    return None if names is None else tuple(name for name in names if name is not None)


def _read_names(part: bytes) -> list[str | None] | None:
    part = decode_utf8(part).encode()  # Java: parses a String
    if not part:
        return None
    if len(part) > MAX_LOOSE_BYTES:
        raise TooMuch("a long list of filter servers is not plain JSON", limit="loose_json")
    try:
        reader = Reader(part)
        names = reader.strings()
        reader.finish()
    except JsonError:
        return []
    return names
