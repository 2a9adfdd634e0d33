"""Computes the digest of a live route table in slices of about a millisecond, and caches it."""

import asyncio
from collections.abc import Collection, Iterator
from typing import Final, TypeVar

from routebook.peers.digest import BUCKETS, BucketDigest, Digest, take_buckets, take_digest
from routebook.routes import RouteTable

T = TypeVar("T")

_QUEUES_PER_SLICE: Final = 5000  # about a millisecond
_TOPICS_PER_SLICE: Final = 2000


class DigestCache:
    """Computes the digest on request; it is valid until the tables change."""

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes
        self._revision = -1
        self._pending: asyncio.Future[Digest] | None = None

    async def digest(self) -> Digest:
        """Return the digest of the whole table; concurrent callers share one computation."""
        pending = self._pending
        if pending is None or (pending.done() and (pending.cancelled() or self._revision != self._routes.revision)):
            self._revision = self._routes.revision
            steps = take_digest(self._routes, slice_size=_QUEUES_PER_SLICE)
            pending = self._pending = asyncio.ensure_future(_last(steps))
        return await asyncio.shield(pending)

    async def buckets(self, numbers: Collection[int]) -> BucketDigest | None:
        """Return the topic hashes of these buckets; None if one does not exist."""
        if not numbers or not all(0 <= number < BUCKETS for number in numbers):
            return None
        return await _last(take_buckets(self._routes, numbers, slice_size=_TOPICS_PER_SLICE))


async def _last(steps: Iterator[T | None]) -> T:
    for taken in steps:
        if taken is not None:
            return taken
        await asyncio.sleep(0)
    raise AssertionError("the last slice yields the digest")
