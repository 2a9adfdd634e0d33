"""A route table as a few hundred short numbers, so that two can be compared by what differs. Pure.

    groups    broker name → what 106 shows of it
    buckets   256 sums, each over the topics whose name falls into it (CRC-32, its lowest byte)

A topic counts with its name and, of each broker, permission and queues. Sums do not depend on order, and the queues of
thousands of topics are a handful of shared objects that are hashed once: some 30 µs for a topic on 300 brokers.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final
from zlib import crc32

import msgspec

from routebook.model import BrokerData, QueueData
from routebook.routes import RouteTable

BUCKETS: Final = 256
FORMAT: Final = 1
_MASK: Final = (1 << 64) - 1


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """What `/v1/digest` answers. Another `format` cannot be compared with this one."""

    format: int
    topics: int
    groups: dict[str, str]
    buckets: list[str]


class BucketDigest(msgspec.Struct, frozen=True, kw_only=True):
    """What `/v1/digest/{bucket}` answers: its topics."""

    format: int
    bucket: int
    topics: dict[str, str]


def bucket_of(topic: str) -> int:
    return crc32(_bytes(topic)) % BUCKETS


def group_digest(data: BrokerData) -> str:
    """What 106 shows of a group."""
    shown = (data.cluster, data.enable_acting_master, data.zone_name, sorted(data.broker_addrs.items()))
    return _hex(_hash(repr(shown)))


class QueueSums:
    """Hashes queues, each distinct object once. Keep it for one pass: it holds on to what it has seen."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, QueueData]] = {}

    def topic(self, topic: str, queues: Iterable[QueueData]) -> int:
        """The sum of one topic."""
        known, total = self._known, 0
        for queue in queues:
            seen = known.get(id(queue))
            if seen is None:
                seen = known[id(queue)] = (_queue_hash(queue), queue)
            total += seen[0]
        return _hash(f"{topic}\n{total & _MASK}")


def take_digest(tables: RouteTable, *, at_a_time: int) -> Iterator[Digest | None]:
    """Pass over the tables in steps, `None` after each; the last gives the digest.

    They may change between two steps: then some topics are summed as they were and some as they are.
    """
    sums, buckets = QueueSums(), [0] * BUCKETS
    steps = 0
    for topic in list(tables.topic_table):
        entry = tables.topic_table.get(topic)
        if entry is None:
            continue
        buckets[bucket_of(topic)] += sums.topic(topic, entry.queues.values())
        steps += len(entry.queues) + 1
        if steps >= at_a_time:
            steps = 0
            yield None
    groups = tables.cluster_info().broker_addr_table
    yield Digest(
        format=FORMAT,
        topics=len(tables.topic_table),
        groups={name: group_digest(data) for name, data in groups.items()},
        buckets=[_hex(total & _MASK) for total in buckets],
    )


def take_bucket(tables: RouteTable, bucket: int, *, at_a_time: int) -> Iterator[BucketDigest | None]:
    """The same for the topics of one bucket."""
    sums = QueueSums()
    topics: dict[str, str] = {}
    for number, topic in enumerate(list(tables.topic_table), 1):
        if bucket_of(topic) == bucket and (entry := tables.topic_table.get(topic)) is not None:
            topics[topic] = _hex(sums.topic(topic, entry.queues.values()))
        if not number % at_a_time:
            yield None
    yield BucketDigest(format=FORMAT, bucket=bucket, topics=topics)


def _queue_hash(queue: QueueData) -> int:
    shown = (queue.broker_name, queue.perm, queue.read_queue_nums, queue.write_queue_nums)
    return _hash(repr(shown))


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(_bytes(text), digest_size=8).digest(), "big")


def _hex(number: int) -> str:
    return f"{number:016x}"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
