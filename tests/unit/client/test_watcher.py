"""The route watcher: events and look-ups."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from routebook.client import LookupFailed, RouteChange, RouteWatcher
from routebook.client.calls import NameServerCalls
from routebook.client.requests import Request, T
from routebook.client.watcher import WatchEvent, route_changed
from routebook.errors import NotReady, TopicNotExist, Unreachable
from routebook.model import BrokerData, QueueData, TopicRoute
from routebook.wire.command import Command
from tests.support.asynchronous import asynchronous


def route(*brokers: str, perm: int = 6, cluster: str = "c") -> TopicRoute:
    return TopicRoute(
        broker_datas=[
            BrokerData(broker_addrs={0: f"{name}:1"}, broker_name=name, cluster=cluster, enable_acting_master=False)
            for name in brokers
        ],
        filter_server_table={},
        queue_datas=[
            QueueData(broker_name=name, perm=perm, read_queue_nums=1, topic_sys_flag=0, write_queue_nums=1)
            for name in brokers
        ],
    )


class FakeNameServer(NameServerCalls):
    """Routes that the test sets."""

    def __init__(self) -> None:
        self.routes: dict[str, TopicRoute | Exception] = {}
        self.asked: list[str] = []

    async def route(self, topic: str, *, zone: str | None = None) -> TopicRoute:
        self.asked.append(topic)
        found = self.routes.get(topic, TopicNotExist("none"))
        if isinstance(found, Exception):
            raise found
        return found

    async def call(self, command: Command, *, timeout_s: float | None = None) -> Command:
        raise NotImplementedError

    async def ask(self, request: Request[T], *, timeout_s: float | None = None) -> T:
        raise NotImplementedError

    async def tell(self, request: Request[T], *, timeout_s: float | None = None) -> None:
        raise NotImplementedError


async def next_event(events: AsyncIterator[WatchEvent]) -> WatchEvent:
    async with asyncio.timeout(10):
        return await anext(events)


@asynchronous
async def test_the_first_route_and_later_changes_are_events() -> None:
    server = FakeNameServer()
    server.routes = {"t": route("a"), "u": route("b")}
    watcher = RouteWatcher(server, ["t", "u", "t", "absent"], every_s=3600)
    events = aiter(watcher)

    assert await next_event(events) == RouteChange("t", None, route("a"))
    assert await next_event(events) == RouteChange("u", None, route("b"))

    server.routes["t"] = route("b", "a")
    watcher.nudge("t")
    watcher.nudge("not watched")
    assert await next_event(events) == RouteChange("t", route("a"), route("b", "a"))
    assert server.asked == ["t", "u", "absent", "t"]

    del server.routes["u"]
    watcher.nudge()
    assert await next_event(events) == RouteChange("u", route("b"), None)
    assert watcher.routes == {"t": route("b", "a"), "u": None, "absent": None}


@asynchronous
async def test_routes_are_polled_periodically() -> None:
    server = FakeNameServer()
    server.routes["t"] = route("a")
    events = aiter(RouteWatcher(server, ["t"], every_s=0.005))
    await next_event(events)

    server.routes["t"] = route("a", perm=4)
    assert await next_event(events) == RouteChange("t", route("a"), route("a", perm=4))


@pytest.mark.parametrize("error", [Unreachable("h:1", "is down"), NotReady("name server not ready")])
@asynchronous
async def test_a_failure_is_reported_once_and_the_last_route_stays(error: Unreachable | NotReady) -> None:
    server = FakeNameServer()
    server.routes["t"] = route("a")
    watcher = RouteWatcher(server, ["first", "t"], every_s=3600)
    events = aiter(watcher)
    await next_event(events)

    server.routes["t"] = error
    watcher.nudge()
    assert await next_event(events) == LookupFailed("t", error)
    assert watcher.routes["t"] == route("a")

    for known, new in ((None, route("x")), (route("x"), route("y"))):
        server.routes["first"] = new
        watcher.nudge()  # t fails still, between the two
        assert await next_event(events) == RouteChange("first", known, new)
    assert server.asked.count("t") == 3

    server.routes["t"] = route("b")
    assert await next_event(events) == RouteChange("t", route("a"), route("b"))


def test_order_cluster_and_zone_do_not_count_as_a_change() -> None:
    assert not route_changed(route("a", "b"), route("b", "a"))
    assert not route_changed(route("a"), route("a", cluster="other"))
    assert not route_changed(None, None)
    assert route_changed(route("a"), route("a", "b"))
    assert route_changed(route("a"), None)
    assert route_changed(route("a"), route("a", perm=4))
