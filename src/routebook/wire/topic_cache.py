"""Cache of decoded topics, keyed by their JSON text: hundreds of brokers announce the same topics again and again.

    …"topicConfigTable":{"A":{"attributes":{},…,"writeQueueNums":8},"B":{…},"C":{…}},"topicQueueMappingDetailMap":{}…
                          └────────────── one text ──────────────┘   └─ text ─┘

The table is split before each name. A text that was decoded before is looked up; a new one is decoded on its own and
strictly, so that every cached text is exactly one member of a JSON object. The body without its topics is decoded as
usual. A body that is not written as Java's brokers write it is decoded as a whole instead. If the broker's previous
table is given, only the part that differs from it is split (`topic_blocks`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, cast

import msgspec

from routebook.bounded_cache import BoundedCache
from routebook.model import TopicConfig
from routebook.shared_names import shared
from routebook.steps import Steps, finish
from routebook.wire.fastjson.typed import STRICT_FAILURES, Int32, decode_strictly
from routebook.wire.topic_blocks import END, SEPARATOR, TopicBlock, find_overlap, split_blocks, topics_of

_TABLE: Final = b'"topicConfigTable":{'
_NAME: Final = _TABLE.strip(b'":{')
_BETWEEN_TOPICS: Final = re.compile(rb'\},"(?=[^"]*":\{)')
_AFTER_TABLE: Final = b'}},"topicQueueMappingDetailMap":{'  # with 5.x
_TAIL_BYTES: Final = 4096
_PART_BYTES: Final = 32 << 10  # a step; some 200 topics


class TopicTable(NamedTuple):
    """The topics of a body, each name once, and the body with `PLACEHOLDER` as its table."""

    topics: tuple[TopicConfig, ...]
    uncached: tuple[TopicConfig, ...]  # their names have not been checked yet
    changed: tuple[TopicConfig, ...]  # not the same in the previous table
    blocks: tuple[TopicBlock, ...]
    rest: bytes


class _Ignored(msgspec.Struct, gc=False):
    """An object without fields of interest."""


class SentTopic(msgspec.Struct, rename="camel", gc=False):
    """Java: TopicConfig, with its defaults. The last three are declared to reject what Java rejects."""

    topic_name: str | None = None
    perm: Int32 = 6
    read_queue_nums: Int32 = 16
    topic_sys_flag: Int32 = 0
    write_queue_nums: Int32 = 16
    attributes: _Ignored | None = None
    order: bool = False
    topic_filter_type: Literal["SINGLE_TAG", "MULTI_TAG"] | None = None

    def named(self, name: str) -> TopicConfig:
        """The part that the NameServer stores."""
        return TopicConfig(
            topic_name=shared(name),  # one object for all brokers
            perm=self.perm,
            read_queue_nums=self.read_queue_nums,
            topic_sys_flag=self.topic_sys_flag,
            write_queue_nums=self.write_queue_nums,
        )


class TopicCache:
    """The decoded topics of one NameServer. Only names that pass the length limit in force are cached."""

    __slots__ = ("_max_name_length", "_topics")

    def __init__(self, *, max_entries: int = 100_000) -> None:
        self._topics = BoundedCache[bytes, TopicConfig](max_entries=max_entries)
        self._max_name_length = 0

    def __len__(self) -> int:
        return len(self._topics)

    def read_table(
        self, body: bytes, *, max_name_length: int, previous: Sequence[TopicBlock] = ()
    ) -> TopicTable | None:
        """The body's topics; None if it has to be decoded as a whole. Names in `uncached` may be invalid."""
        return finish(self.read_in_steps(body, max_name_length=max_name_length, previous=previous))

    def read_in_steps(
        self, body: bytes, *, max_name_length: int, previous: Sequence[TopicBlock] = ()
    ) -> Steps[TopicTable | None]:
        """The same in steps."""
        begin = body.find(_TABLE) + len(_TABLE)
        end = _find_end(body, begin)
        if begin < len(_TABLE) or end < 0 or body[begin : begin + 1] != b'"':
            return None
        rest = b'%b"":{}%b' % (body[:begin], body[end + 1 :])
        if rest.count(_NAME) != 1 or b"\\" in rest:  # a second table, or one whose name is spelled with escapes
            return None
        if max_name_length != self._max_name_length:
            self._topics.clear()
            self._max_name_length = max_name_length
        text = memoryview(body)[begin + 1 : end + len(END)]
        same = find_overlap(text, previous, salt=max_name_length)
        yield
        found = yield from self._read(text[same.begin : same.end], SEPARATOR if same.back else END)
        if found is None:
            return None
        sizes, between, uncached = found
        replaced = {topic.topic_name: topic for topic in topics_of(same.replaced)}
        topics = (*topics_of(same.front), *between, *topics_of(same.back))
        yield
        if not _has_names(between, replaced) and not _is_unique(topics):
            return None
        yield
        changed = [topic for topic in between if replaced.get(topic.topic_name) != topic] if replaced else between
        yield
        blocks = split_blocks(text, same.begin, same.end, sizes, between, salt=max_name_length)
        return TopicTable(
            topics=topics,
            uncached=tuple(uncached),
            changed=tuple(changed),
            blocks=(*same.front, *blocks, *same.back),
            rest=rest,
        )

    def _read(
        self, text: memoryview, closing: bytes
    ) -> Steps[tuple[list[int], list[TopicConfig], list[TopicConfig]] | None]:
        """The size of each topic's text, the topics, and those that were not cached; None if one is not plain."""
        if not text:
            return [], [], []
        if text[-len(closing) :] != closing:
            return None
        sizes, topics, uncached = list[int](), list[TopicConfig](), list[TopicConfig]()
        for part in _parts(text[: -len(closing)]):
            texts = _BETWEEN_TOPICS.split(part)
            found = list(map(self._topics.get, texts))
            if not all(found):
                for place, one in enumerate(texts):
                    if found[place] is None:
                        topic = self._decode(one)
                        if topic is None:
                            return None
                        found[place] = topic
                        uncached.append(topic)
            sizes += map(len, texts)
            topics += cast("list[TopicConfig]", found)
            yield
        return sizes, topics, uncached

    def _decode(self, text: bytes) -> TopicConfig | None:
        """Decode one topic and cache it; None if it is not plain."""
        try:
            ((key, sent),) = decode_strictly(b'{"%b}}' % text, _decode).items()
        except (*STRICT_FAILURES, ValueError):
            return None
        if key != sent.topic_name:
            return None
        topic = sent.named(key)
        if len(key) <= self._max_name_length and key.isprintable() and self._topics.has_room():
            self._topics[text] = topic
        return topic


def _parts(text: memoryview) -> Iterator[memoryview]:
    """The text in parts of whole topics, each of about _PART_BYTES, without the separators between them."""
    begin = 0
    while (cut := _BETWEEN_TOPICS.search(text, begin + _PART_BYTES)) is not None:
        yield text[begin : cut.start()]
        begin = cut.end()
    yield text[begin:]


def _has_names(topics: Sequence[TopicConfig], replaced: dict[str, TopicConfig]) -> bool:
    """Whether the names are exactly those that they replace: then no name is in the table twice."""
    return len(topics) == len(replaced) and {topic.topic_name for topic in topics} == replaced.keys()


def _is_unique(topics: Sequence[TopicConfig]) -> bool:
    return len({topic.topic_name for topic in topics}) == len(topics)


def _find_end(body: bytes, begin: int) -> int:
    """Where the last topic ends. With 5.x usually near the end of the body: searching from the front is slow."""
    end = body.rfind(_AFTER_TABLE, max(begin, len(body) - _TAIL_BYTES))
    return end if end >= 0 else body.find(END, begin)


PLACEHOLDER: Final = {"": SentTopic()}  # a table that no broker sends: a topic has a name
_decode = msgspec.json.Decoder(dict[str, SentTopic]).decode
