"""Splits the topics of a registration into blocks with a hash each, to find the part that changed since the last one.

    A":{…},"B":{…},"C":{…},"D":{…},"E":{…}}
    └─── block ───┘└─── block ───┘└ block ┘    each includes the separator after it, the last one the end of the table

A broker that announces a change sends all of its topics, most of them unchanged. Leading and trailing blocks of the
previous table that are also in the new text need no parsing; only the text between them does. This is valid because a
JSON text is parsed from its front: after equal bytes the rest means the same, as long as all of it is whole members.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from routebook.model import TopicConfig

SEPARATOR: Final = b'},"'  # between two topics
END: Final = b"}}"  # of the last topic and the table
_TOPICS_PER_BLOCK: Final = 256


class TopicBlock(msgspec.Struct, frozen=True, gc=False):
    """Consecutive topics of a registration, and the size and hash of their text."""

    size: int
    digest: int
    topics: tuple[TopicConfig, ...]


class Overlap(NamedTuple):
    """Which blocks of an earlier table are in a text, which are not, and the range of the text that none covers."""

    front: Sequence[TopicBlock]
    back: Sequence[TopicBlock]
    replaced: Sequence[TopicBlock]
    begin: int
    end: int


def find_overlap(text: memoryview, previous: Sequence[TopicBlock], *, salt: int) -> Overlap:
    """Compare a text with an earlier table. The last block includes the end of the table, so it matches only there."""
    begin, front = 0, 0
    for block in previous[:-1]:
        after = begin + block.size
        if after > len(text) or _digest(text[begin:after], salt) != block.digest:
            break
        begin, front = after, front + 1
    end, back = len(text), len(previous)
    for block in reversed(previous[front:]):
        before = end - block.size
        if before < begin or _digest(text[before:end], salt) != block.digest:
            break
        end, back = before, back - 1
    return Overlap(previous[:front], previous[back:], previous[front:back], begin, end)


def topics_of(blocks: Sequence[TopicBlock]) -> tuple[TopicConfig, ...]:
    """The topics of all blocks, in order."""
    return tuple(chain.from_iterable(block.topics for block in blocks))


def split_blocks(
    text: memoryview, begin: int, end: int, sizes: Sequence[int], topics: Sequence[TopicConfig], *, salt: int
) -> list[TopicBlock]:
    """Blocks for the topics of a range of the text; `sizes` are the sizes of their texts without separators."""
    blocks = []
    length = _TOPICS_PER_BLOCK if len(topics) > 2 * _TOPICS_PER_BLOCK else max(1, len(topics))
    for first in range(0, len(topics), length):
        is_last = first + length >= len(topics)
        after = end if is_last else begin + sum(sizes[first : first + length]) + len(SEPARATOR) * length
        blocks.append(
            TopicBlock(after - begin, _digest(text[begin:after], salt), tuple(topics[first : first + length]))
        )
        begin = after
    return blocks


def _digest(text: memoryview, salt: int) -> int:
    """A hash keyed per process, so that peers cannot construct collisions. Another salt gives other digests."""
    return hash((salt, hash(text)))
