"""Many requests to one NameServer, a bounded number at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from routebook.client.calls import NameServerCalls
from routebook.errors import RequestError, TopicNotExist
from routebook.model import ClusterInfo, TopicRoute

K = TypeVar("K")
V = TypeVar("V")


async def map_concurrently(
    keys: Iterable[K],
    call: Callable[[K], Awaitable[V]],
    *,
    limit: int,
    on_done: Callable[[], None] | None = None,
) -> dict[K, V]:
    """Await `call` for each key, at most `limit` at a time; the first error cancels the rest."""
    todo = list(keys)
    results: dict[K, V] = {}
    remaining = iter(todo)

    async def work() -> None:
        for key in remaining:
            results[key] = await call(key)
            if on_done is not None:
                on_done()

    workers = [asyncio.create_task(work()) for _ in range(min(limit, len(todo)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return {key: results[key] for key in todo}


async def fetch_routes(
    server: NameServerCalls, topics: Iterable[str], *, limit: int, on_done: Callable[[], None] | None = None
) -> dict[str, TopicRoute]:
    """Return the routes of these topics, without topics that were deleted meanwhile."""

    async def fetch(topic: str) -> TopicRoute | None:
        try:
            return await server.route(topic)
        except TopicNotExist:
            return None

    found = await map_concurrently(topics, fetch, limit=limit, on_done=on_done)
    return {topic: route for topic, route in found.items() if route is not None}


async def fetch_topics(server: NameServerCalls, info: ClusterInfo) -> list[str]:
    """Return all topics; read by cluster if the NameServer rejects the complete list."""
    try:
        return await server.topics()
    except RequestError:  # Java: enableAllTopicList=false
        names: set[str] = set()
        for cluster in info.cluster_addr_table:
            names.update(await server.topics_of_cluster(cluster))
        return sorted(names)
