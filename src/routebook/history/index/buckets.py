"""Many topics of a broker at once: 256 topics, by their ids, are a bucket; what is the same is written the same. Pure.

A content is a list of (queues or null, the topics that have them as one byte each), sorted, as MessagePack: most
brokers have a handful of distinct queues, so 256 topics take some 300 bytes.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, TypeAlias

import msgspec

Cell: TypeAlias = tuple[int, int, int, int]  # perm, read queues, write queues, system flag
Content: TypeAlias = list[tuple[Cell | None, bytes]]

BUCKET_BITS: Final = 8
_OFFSET: Final = (1 << BUCKET_BITS) - 1

_decoder: Final = msgspec.msgpack.Decoder(Content)
_encode: Final = msgspec.msgpack.Encoder().encode


def bucket_of(topic_id: int) -> int:
    return topic_id >> BUCKET_BITS


def by_bucket(cells: Iterable[tuple[int, Cell | None]]) -> dict[int, list[tuple[int, Cell | None]]]:
    """The same, parted by bucket."""
    parted: dict[int, list[tuple[int, Cell | None]]] = {}
    for cell in cells:
        parted.setdefault(cell[0] >> BUCKET_BITS, []).append(cell)
    return parted


def pack(cells: Iterable[tuple[int, Cell | None]]) -> bytes:
    """Cells of one bucket, each topic once."""
    offsets: dict[Cell | None, list[int]] = {}
    for topic_id, queues in cells:
        offsets.setdefault(queues, []).append(topic_id & _OFFSET)
    content = [(queues, bytes(sorted(topics))) for queues, topics in offsets.items()]
    content.sort(key=lambda entry: entry[1])  # no two have the same first topic
    return _encode(content)


def fingerprint(body: bytes) -> bytes:
    """What tells one content from another."""
    return blake2b(body, digest_size=16).digest()


def unpack(body: bytes) -> Content:
    """What `pack` packed."""
    return _decoder.decode(body)


def find(content: Content, topic_id: int) -> tuple[bool, Cell | None]:
    """Whether the topic is in it, and its queues there."""
    offset = topic_id & _OFFSET
    for queues, topics in content:
        if offset in topics:
            return True, queues
    return False, None
