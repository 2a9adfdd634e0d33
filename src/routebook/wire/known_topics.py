"""Topics of registrations, known by their bytes: hundreds of brokers announce the same ones, again and again.

    …"topicConfigTable":{"A":{"attributes":{},…,"writeQueueNums":8},"B":{…},"C":{…}},"topicQueueMappingDetailMap":{}…
                          └────────────── one text ──────────────┘   └─ text ─┘

A body is cut before each name. A text that was decoded before is looked up; a new one is decoded on its own, strictly,
so that what is known is one member of a JSON object, whatever stands around it. The body without its topics is decoded
as ever. Where anything is not as Java's brokers write it, all of the body is. Of a table much like an earlier one only
what differs is cut (`topic_runs`).
"""

import re
from collections.abc import Sequence
from sys import intern
from typing import Final, Literal, NamedTuple, cast

import msgspec

from routebook.model import TopicConfig, TopicRun
from routebook.wire.fastjson.typed import STRICT_FAILURES, Int32, decode_strictly
from routebook.wire.topic_runs import DIVIDES, ENDS, compare, runs_of, topics_of

_TABLE: Final = b'"topicConfigTable":{'
_NAME: Final = _TABLE.strip(b'":{')
_BETWEEN: Final = re.compile(rb'\},"(?=[^"]*":\{)')
_AFTER: Final = b'}},"topicQueueMappingDetailMap":{'  # with 5.x
_NEAR_THE_END: Final = 4096


class Cut(NamedTuple):
    """A body's topics, each name once, and the body with `MARK` in their place. `news` were not known before."""

    topics: tuple[TopicConfig, ...]
    news: tuple[TopicConfig, ...]
    rest: bytes
    runs: tuple[TopicRun, ...]


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

    def cut(self, body: bytes, *, longest: int, like: Sequence[TopicRun] = ()) -> Cut | None:
        """None: this has to be decoded as a whole. Names in `news` may be longer, or unfit in other ways.

        `like` is an earlier table that this one may be much like.
        """
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
        text = memoryview(body)[begin + 1 : end + len(ENDS)]
        same = compare(text, like, salt=longest)
        found = self._between(text[same.begin : same.end], DIVIDES if same.back else ENDS)
        if found is None:
            return None
        sizes, between, news = found
        topics = (*topics_of(same.front), *between, *topics_of(same.back))
        if not _same_names(between, topics_of(same.gone)) and not _unique(topics):
            return None
        runs = runs_of(text, same.begin, same.end, sizes, between, salt=longest)
        return Cut(topics, tuple(news), rest, (*same.front, *runs, *same.back))

    def _between(
        self, text: memoryview, closing: bytes
    ) -> tuple[list[int], list[TopicConfig], list[TopicConfig]] | None:
        """The topics of a text, how long the text of each is, and which are new; None if it is not plain."""
        if not text:
            return [], [], []
        if text[-len(closing) :] != closing:
            return None
        texts = _BETWEEN.split(text[: -len(closing)])
        found = list(map(self._known.get, texts))
        news = []
        if not all(found):
            for place, one in enumerate(texts):
                if found[place] is None:
                    topic = self._learn(one)
                    if topic is None:
                        return None
                    found[place] = topic
                    news.append(topic)
        return list(map(len, texts)), cast("list[TopicConfig]", found), news

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


def _same_names(topics: Sequence[TopicConfig], before: Sequence[TopicConfig]) -> bool:
    """Whether the one may stand in place of the other, without a name being there twice."""
    return len(topics) == len(before) and {one.topic_name for one in topics} == {one.topic_name for one in before}


def _unique(topics: Sequence[TopicConfig]) -> bool:
    return len({topic.topic_name for topic in topics}) == len(topics)


def _end(body: bytes, begin: int) -> int:
    """Where the last topic ends. With 5.x mostly near the end of the body: to look from the front takes long."""
    end = body.rfind(_AFTER, max(begin, len(body) - _NEAR_THE_END))
    return end if end >= 0 else body.find(ENDS, begin)


MARK: Final = {"": SentTopic()}  # as a table; no topic is called so
_decode = msgspec.json.Decoder(dict[str, SentTopic]).decode
