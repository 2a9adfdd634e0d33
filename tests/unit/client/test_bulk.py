"""Many requests to one NameServer: bounded concurrency, errors, topics that disappear."""

import asyncio
from typing import cast

import pytest

from routebook.client.bulk import fetch_routes, fetch_topics, map_concurrently
from routebook.client.calls import NameServerCalls
from routebook.errors import BadRequest, TopicNotExist
from routebook.model import ClusterInfo, TopicRoute
from tests.support.asynchronous import asynchronous

ROUTE = TopicRoute(broker_datas=[], filter_server_table={}, queue_datas=[])


class Calls:
    """A NameServer that has two topics and no list of all topics."""

    async def route(self, topic: str) -> TopicRoute:
        if topic == "deleted":
            raise TopicNotExist(topic)
        return ROUTE

    async def topics(self) -> list[str]:
        raise BadRequest("the complete list is disabled")

    async def topics_of_cluster(self, cluster: str) -> list[str]:
        return [f"{cluster}-topic", "shared"]


@asynchronous
async def test_at_most_limit_calls_run_at_a_time() -> None:
    running = highest = done = 0

    async def call(key: int) -> int:
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        await asyncio.sleep(0)
        running -= 1
        return key * 2

    def on_done() -> None:
        nonlocal done
        done += 1

    assert await map_concurrently(range(20), call, limit=3, on_done=on_done) == {key: key * 2 for key in range(20)}
    assert (highest, done) == (3, 20)


@asynchronous
async def test_the_first_error_cancels_the_rest() -> None:
    started: list[int] = []

    async def call(key: int) -> None:
        started.append(key)
        await asyncio.sleep(0)
        if key == 1:
            raise ValueError("one failed")

    with pytest.raises(ValueError, match="one failed"):
        await map_concurrently(range(100), call, limit=2)
    assert len(started) < 10


@asynchronous
async def test_deleted_topics_are_left_out() -> None:
    calls = cast("NameServerCalls", Calls())
    assert await fetch_routes(calls, ["a", "deleted", "b"], limit=2) == {"a": ROUTE, "b": ROUTE}


@asynchronous
async def test_topics_come_from_the_clusters_if_the_complete_list_is_disabled() -> None:
    info = ClusterInfo(broker_addr_table={}, cluster_addr_table={"x": [], "y": []})
    assert await fetch_topics(cast("NameServerCalls", Calls()), info) == ["shared", "x-topic", "y-topic"]
