"""Topics of registrations, known by their bytes: hundreds of brokers announce the same ones, again and again.

    …"topicConfigTable":{"A":{"attributes":{},…,"writeQueueNums":8},"B":{…},"C":{…}},"topicQueueMappingDetailMap":{}…
                          └────────────── one text ──────────────┘   └─ text ─┘

A body is cut before each name. A text that was decoded before is looked up; a new one is decoded on its own, strictly,
so that what is known is one member of a JSON object, whatever stands around it. The body without its topics is decoded
as ever. Where anything is not as Java's brokers write it, all of the body is.
"""

import re
from sys import intern
from typing import Final, Literal, NamedTuple, cast

import msgspec

from routebook.model import TopicConfig
from routebook.wire.typed_json import STRICT_FAILURES, Int32, decode_strictly

_TABLE: Final = b'"topicConfigTable":{'
_NAME: Final = _TABLE.strip(b'":{')
_BETWEEN: Final = re.compile(rb'\},"(?=[^"]*":\{)')
_AFTER: Final = b'}},"topicQueueMappingDetailMap":{'  # with 5.x
_AT_THE_END: Final = b"}}}}"  # of the last topic, the table, its wrapper and the body, with 4.x
_NEAR_THE_END: Final = 4096


class Cut(NamedTuple):
    """A body's topics, each name once, and the body with `MARK` in their place. `news` were not known before."""

    topics: tuple[TopicConfig, ...]
    news: tuple[TopicConfig, ...]
    rest: bytes


class _Any(msgspec.Struct, gc=False):
    """An object of which nothing is kept."""


class SentTopic(msgspec.Struct, rename="camel", gc=False):
    """Java: TopicConfig, with its defaults. The last three are typed only to refuse what Java refuses."""

    topic_name: str | None = None
    perm: Int32 = 6
    read_queue_nums: Int32 = 16
    topic_sys_flag: Int32 = 0
    write_queue_nums: Int32 = 16
    attributes: _Any | None = None
    order: bool = False
    topic_filter_type: Literal["SINGLE_TAG", "MULTI_TAG"] | None = None

    def named(self, name: str) -> TopicConfig:
        """What is kept of it."""
        return TopicConfig(
            topic_name=intern(name),  # one object for all brokers
            perm=self.perm,
            read_queue_nums=self.read_queue_nums,
            topic_sys_flag=self.topic_sys_flag,
            write_queue_nums=self.write_queue_nums,
        )


class KnownTopics:
    """Of one NameServer: `most` texts are known at a time, with names of at most `longest` characters."""

    __slots__ = ("_known", "_longest", "_most", "_passed")

    def __init__(self, *, most: int = 100_000) -> None:
        self._known: dict[bytes, TopicConfig] = {}
        self._longest = 0
        self._most = most
        self._passed = 0  # what could not be kept since it is full

    def __len__(self) -> int:
        return len(self._known)

    def cut(self, body: bytes, *, longest: int) -> Cut | None:
        """None: this has to be decoded as a whole. Names in `news` may be longer, or unfit in other ways."""
        begin = body.find(_TABLE) + len(_TABLE)
        end = _end(body, begin)
        if begin < len(_TABLE) or end < 0 or body[begin : begin + 1] != b'"':
            return None
        rest = b'%b"":{}%b' % (body[:begin], body[end + 1 :])
        if rest.count(_NAME) != 1 or b"\\" in rest:  # then nothing else there is, or is spelled, such a table
            return None
        if longest != self._longest:
            self._known.clear()
            self._longest = longest
        texts = _BETWEEN.split(body[begin + 1 : end])
        found = list(map(self._known.get, texts))
        news = []
        if not all(found):
            for place, text in enumerate(texts):
                if found[place] is None:
                    topic = self._learn(text)
                    if topic is None:
                        return None
                    found[place] = topic
                    news.append(topic)
        topics = cast("tuple[TopicConfig, ...]", tuple(found))
        if len({topic.topic_name for topic in topics}) != len(topics):
            return None  # one name twice
        return Cut(topics, tuple(news), rest)

    def _learn(self, text: bytes) -> TopicConfig | None:
        """The topic; None if it is not plain."""
        try:
            ((key, sent),) = decode_strictly(b'{"%b}}' % text, _decode).items()
        except (*STRICT_FAILURES, ValueError):
            return None
        if key != sent.topic_name:
            return None
        topic = sent.named(key)
        if len(key) <= self._longest and key.isprintable() and self._has_room():
            self._known[text] = topic
        return topic

    def _has_room(self) -> bool:
        """If it is full, all is forgotten once as many others have come as are known."""
        if len(self._known) < self._most:
            return True
        self._passed += 1
        if self._passed < self._most:
            return False
        self._passed = 0
        self._known.clear()
        return True


def _end(body: bytes, begin: int) -> int:
    """Where the last topic ends. Nearly always near the end of the body: to look from the front takes long."""
    end = body.rfind(_AFTER, max(begin, len(body) - _NEAR_THE_END))
    if end < 0 and body.endswith(_AT_THE_END):
        return len(body) - len(_AT_THE_END)
    return end if end >= 0 else body.find(b"}}", begin)


MARK: Final = {"": SentTopic()}  # as a table; no topic is called so
_decode = msgspec.json.Decoder(dict[str, SentTopic]).decode
