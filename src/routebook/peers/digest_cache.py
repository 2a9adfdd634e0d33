"""Computes the digest of a live route table in slices of about a millisecond, and caches it."""

import asyncio
from collections.abc import Iterator
from typing import Final, TypeVar

from routebook.peers.digest import BUCKETS, BucketDigest, Digest, take_bucket, take_digest
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

    async def bucket(self, number: int) -> BucketDigest | None:
        """Return the topic hashes of a bucket; None if the bucket does not exist."""
        if not 0 <= number < BUCKETS:
            return None
        return await _last(take_bucket(self._routes, number, slice_size=_TOPICS_PER_SLICE))


async def _last(steps: Iterator[T | None]) -> T:
    for taken in steps:
        if taken is not None:
            return taken
        await asyncio.sleep(0)
    raise AssertionError("the last slice yields the digest")
