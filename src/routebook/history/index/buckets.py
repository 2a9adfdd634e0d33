"""Packs the queue settings of many topics of a broker: 256 topics, by id, form a bucket, encoded canonically. Pure.

The encoding is a sorted MessagePack list of (queues or null, topics with these queues as one byte each). Most brokers
have few distinct queue settings, so 256 topics take about 300 bytes.
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
    """Group cells by bucket."""
    buckets: dict[int, list[tuple[int, Cell | None]]] = {}
    for cell in cells:
        buckets.setdefault(bucket_of(cell[0]), []).append(cell)
    return buckets


def pack(cells: Iterable[tuple[int, Cell | None]]) -> bytes:
    """Encode the cells of one bucket, each topic once."""
    offsets: dict[Cell | None, list[int]] = {}
    for topic_id, queues in cells:
        offsets.setdefault(queues, []).append(topic_id & _OFFSET)
    content = [(queues, bytes(sorted(topics))) for queues, topics in offsets.items()]
    content.sort(key=lambda entry: entry[1])  # unique: each topic occurs once
    return _encode(content)


def fingerprint(body: bytes) -> bytes:
    """Hash an encoded bucket."""
    return blake2b(body, digest_size=16).digest()


def unpack(body: bytes) -> Content:
    """Decode what `pack` encoded."""
    return _decoder.decode(body)


def find(content: Content, topic_id: int) -> tuple[bool, Cell | None]:
    """Return whether the bucket contains the topic, and its queues."""
    offset = topic_id & _OFFSET
    for queues, topics in content:
        if offset in topics:
            return True, queues
    return False, None
