"""Watches the routes of topics by polling, and yields changes.

Polling works with every NameServer. The event stream of a Routebook triggers a look-up at once. A change is always
detected by comparing routes.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from routebook.client.calls import NameServerCalls
from routebook.errors import ConnectionFailed, RequestError, TopicNotExist
from routebook.model import TopicRoute

if TYPE_CHECKING:
    from routebook.client.push import AffectedRoutes

POLL_INTERVAL_S: Final = 30.0  # Java: pollNameServerInterval


class RouteChange(msgspec.Struct, frozen=True):
    """A route has changed; None means no route. The first route of a topic is a change from None."""

    topic: str
    before: TopicRoute | None
    after: TopicRoute | None


class LookupFailed(msgspec.Struct, frozen=True):
    """A look-up failed; reported once until one succeeds. The last known route stays valid, as in Java."""

    topic: str
    error: ConnectionFailed | RequestError


WatchEvent: TypeAlias = RouteChange | LookupFailed


class RouteWatcher:
    """`async for event in RouteWatcher(client, topics)` yields events until cancelled.

    `push` is the HTTP port of a Routebook among the NameServers, such as `http://10.0.0.2:8876`: its events trigger
    look-ups at once, in addition to polling. `push_headers` are sent with that request, such as a token.
    """

    def __init__(
        self,
        client: NameServerCalls,
        topics: Iterable[str],
        *,
        every_s: float = POLL_INTERVAL_S,
        push: str | None = None,
        push_headers: dict[str, str] | None = None,
    ) -> None:
        self.routes: dict[str, TopicRoute | None] = {}
        self._client = client
        self._topics = list(dict.fromkeys(topics))
        self._every_s = every_s
        self._failing: set[str] = set()
        self._nudged: set[str] = set()
        self._wake = asyncio.Event()
        self._push = push
        self._push_headers = push_headers

    def nudge(self, topic: str | None = None) -> None:
        """Look up this topic now, or all topics with None."""
        self._nudged.update(self._topics if topic is None else {topic} & set(self._topics))
        if self._nudged:
            self._wake.set()

    async def __aiter__(self) -> AsyncIterator[WatchEvent]:
        async with self._pushed(), aclosing(self._events()) as events:
            async for event in events:
                yield event

    @asynccontextmanager
    async def _pushed(self) -> AsyncIterator[None]:
        """Read the event stream during this context."""
        if self._push is None:
            yield
            return
        from routebook.client.push import PushStream  # noqa: PLC0415 - imports an HTTP client, rarely needed

        stream = PushStream(self._push, on_event=self._nudge_affected, on_gap=self.nudge, headers=self._push_headers)
        task = asyncio.create_task(stream.run(), name=f"events of {self._push}")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _nudge_affected(self, affected: "AffectedRoutes") -> None:
        for topic in self._topics:
            route = self.routes.get(topic)
            on_broker = route is not None and any(data.broker_name == affected.broker for data in route.broker_datas)
            unknown = route is None and affected.broker is not None
            if topic in affected.topics or on_broker or unknown:
                self.nudge(topic)

    async def _events(self) -> AsyncGenerator[WatchEvent, None]:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            if loop.time() >= due:
                due = loop.time() + self._every_s
                self._nudged.update(self._topics)
            topics = [topic for topic in self._topics if topic in self._nudged]
            self._nudged.clear()
            self._wake.clear()
            for topic in topics:
                event = await self._look(topic)
                if event is not None:
                    yield event
            try:
                async with asyncio.timeout_at(due):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _look(self, topic: str) -> WatchEvent | None:
        try:
            route = await self._client.route(topic)
        except TopicNotExist:
            route = None
        except (ConnectionFailed, RequestError) as error:
            known = topic in self._failing
            self._failing.add(topic)
            return None if known else LookupFailed(topic, error)
        self._failing.discard(topic)
        before = self.routes.get(topic)
        self.routes[topic] = route
        return RouteChange(topic, before, route) if route_changed(before, route) else None


def route_changed(before: TopicRoute | None, after: TopicRoute | None) -> bool:
    """Compare two routes. Java: TopicRouteData.topicRouteDataChanged.

    Brokers, their addresses and queues count. The order of lists, and a broker's cluster, zone and acting-master flag
    do not.
    """
    if before is None or after is None:
        return before is not after
    return _comparable(before) != _comparable(after)


def _comparable(route: TopicRoute) -> tuple[object, ...]:
    return (
        sorted((data.broker_name, sorted(data.broker_addrs.items())) for data in route.broker_datas),
        route.order_topic_conf,
        sorted(msgspec.structs.astuple(data) for data in route.queue_datas),
        route.filter_server_table,
        route.topic_queue_mapping_by_broker,
    )
