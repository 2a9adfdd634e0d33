"""The digest of a living route table, taken in short steps between which the event loop does its work."""

import asyncio
from collections.abc import Iterator
from typing import Final, TypeVar

from routebook.peers.digest import BUCKETS, BucketDigest, Digest, take_bucket, take_digest
from routebook.routes import RouteTable

T = TypeVar("T")

_QUEUES_AT_A_TIME: Final = 5000  # about a millisecond
_TOPICS_AT_A_TIME: Final = 2000


class Digests:
    """Taken when somebody asks, and kept until the tables change."""

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes
        self._revision = -1
        self._taking: asyncio.Future[Digest] | None = None

    async def digest(self) -> Digest:
        """The whole table; those who ask at the same time get the same."""
        taking = self._taking
        if taking is None or (taking.done() and (taking.cancelled() or self._revision != self._routes.revision)):
            self._revision = self._routes.revision
            steps = take_digest(self._routes, at_a_time=_QUEUES_AT_A_TIME)
            taking = self._taking = asyncio.ensure_future(_last(steps))
        return await asyncio.shield(taking)

    async def bucket(self, number: int) -> BucketDigest | None:
        """The topics of a bucket; None if there is no such bucket."""
        if not 0 <= number < BUCKETS:
            return None
        return await _last(take_bucket(self._routes, number, at_a_time=_TOPICS_AT_A_TIME))


async def _last(steps: Iterator[T | None]) -> T:
    for taken in steps:
        if taken is not None:
            return taken
        await asyncio.sleep(0)
    raise AssertionError("the last step gives it")
