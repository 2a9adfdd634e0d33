"""A table of topics as runs: hundreds of topics that stand side by side, known by a hash of their bytes.

    A":{…},"B":{…},"C":{…},"D":{…},"E":{…}}
    └──── run ────┘└──── run ────┘└─ run ─┘    each with what divides it from the next, the last with what ends all

A broker that announces a change sends all of its topics, and all but a few are as before. The runs at the front and at
the back that are in the new text, too, need not be read: what stands between them is. A JSON text is read from its
front, so what follows the same bytes means the same, as long as all in between are whole members.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final, NamedTuple

from routebook.model import TopicConfig, TopicRun

DIVIDES: Final = b'},"'  # two topics
ENDS: Final = b"}}"  # the last topic, and the table
_LENGTH: Final = 256


class Same(NamedTuple):
    """What of an earlier table stands in a text: runs in front, runs behind, and where neither is."""

    front: Sequence[TopicRun]
    back: Sequence[TopicRun]
    gone: Sequence[TopicRun]
    begin: int
    end: int


def compare(text: memoryview, before: Sequence[TopicRun], *, salt: int) -> Same:
    """Which runs of an earlier table are in this text. The last one ends a table, so it can only stand at the end."""
    begin, front = 0, 0
    for run in before[:-1]:
        after = begin + run.size
        if after > len(text) or _digest(text[begin:after], salt) != run.digest:
            break
        begin, front = after, front + 1
    end, back = len(text), len(before)
    for run in reversed(before[front:]):
        ahead = end - run.size
        if ahead < begin or _digest(text[ahead:end], salt) != run.digest:
            break
        end, back = ahead, back - 1
    return Same(before[:front], before[back:], before[front:back], begin, end)


def topics_of(runs: Sequence[TopicRun]) -> tuple[TopicConfig, ...]:
    """In their order."""
    return tuple(chain.from_iterable(run.topics for run in runs))


def runs_of(
    text: memoryview, begin: int, end: int, sizes: Sequence[int], topics: Sequence[TopicConfig], *, salt: int
) -> list[TopicRun]:
    """The topics of a part of the text as runs; `sizes` are those of their texts, without what divides them."""
    runs = []
    length = _LENGTH if len(topics) > 2 * _LENGTH else max(1, len(topics))
    for first in range(0, len(topics), length):
        some = tuple(topics[first : first + length])
        last = first + length >= len(topics)
        after = end if last else begin + sum(sizes[first : first + length]) + len(DIVIDES) * length
        runs.append(TopicRun(after - begin, _digest(text[begin:after], salt), some))
        begin = after
    return runs


def _digest(text: memoryview, salt: int) -> int:
    """Keyed per process, so nobody can make two texts collide on purpose. With another salt, nothing is the same."""
    return hash((salt, hash(text)))
