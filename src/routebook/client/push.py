"""Route change hints from the event stream of a Routebook, read on a thread and delivered in the event loop."""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

import msgspec

from routebook.client.http import POSITION, EventStream, HttpClient
from routebook.codes import ORDER_TOPIC_NAMESPACE
from routebook.errors import RoutebookError
from routebook.sse import ServerSentEvent

ROUTE_KINDS: Final = (
    "broker_up",
    "broker_changed",
    "broker_down",
    "topics_changed",
    "mappings_changed",
    "permission_wiped",
    "permission_restored",
    "topic_deleted",
    "kv_changed",
)
_CONNECT_TIMEOUT_S: Final = 5.0
_MIN_RETRY_S: Final = 0.5
_MAX_RETRY_S: Final = 30.0


class AffectedRoutes(msgspec.Struct, frozen=True):
    """Routes that an event may have changed: those of `topics`, and those of all topics on `broker`."""

    topics: frozenset[str] = frozenset()
    broker: str | None = None


def affected_routes(record: Mapping[str, Any]) -> AffectedRoutes:
    """Return the routes that one journal record may have changed. Pure."""
    match record.get("kind"):
        case "topics_changed":
            changed = frozenset[str]().union(*(record.get(field) or () for field in ("added", "changed", "removed")))
            return AffectedRoutes(topics=changed)
        case "topic_deleted":
            return AffectedRoutes(topics=frozenset({str(record.get("topic"))}))
        case "kv_changed":
            is_order = record.get("namespace") == ORDER_TOPIC_NAMESPACE
            return AffectedRoutes(topics=frozenset({str(record.get("key"))}) if is_order else frozenset())
        case _:
            return AffectedRoutes(broker=record.get("broker"))


class PushStream:
    """The event stream of one Routebook, reconnected until `run` is cancelled.

    `on_event` receives the routes that each event affects. `on_gap` is called whenever events may have been missed:
    when a stream begins, and for an event that cannot be read.
    """

    def __init__(
        self,
        url: str,
        *,
        on_event: Callable[[AffectedRoutes], None],
        on_gap: Callable[[], None],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.connected = False
        self.problem: str | None = None  # why the stream is not open
        self._http = HttpClient(url, timeout_s=_CONNECT_TIMEOUT_S, headers=headers)
        self._on_event = on_event
        self._on_gap = on_gap

    async def run(self) -> None:
        """Read and reconnect until cancelled."""
        retry_s = _MIN_RETRY_S
        while True:
            try:
                await self._read_stream()
                self.problem = f"{self._http.url}: the server closed the stream"
            except RoutebookError as error:
                self.problem = str(error)
            if self.connected:
                self.connected, retry_s = False, _MIN_RETRY_S
            await asyncio.sleep(retry_s)
            retry_s = min(2 * retry_s, _MAX_RETRY_S)

    async def _read_stream(self) -> None:
        """Read one connection on a thread until it ends; a cancellation aborts it."""
        loop = asyncio.get_running_loop()
        streams: list[EventStream] = []
        stopped = threading.Event()

        def read() -> None:
            with self._http.events({"kind": ROUTE_KINDS}) as stream, suppress(RuntimeError):  # the loop was closed
                streams.append(stream)
                if stopped.is_set():
                    return
                for number, event in enumerate(stream.with_positions()):
                    if number == 0:  # the server has subscribed this client before it sends anything
                        loop.call_soon_threadsafe(self._opened)
                    if event.name != POSITION:
                        loop.call_soon_threadsafe(self._received, event)

        executor = ThreadPoolExecutor(1, thread_name_prefix="routebook-push")
        try:
            await asyncio.wrap_future(executor.submit(read))
        except asyncio.CancelledError:
            self.connected = False
            raise
        finally:
            stopped.set()
            for stream in streams:
                stream.abort()
            executor.shutdown(wait=False)

    def _opened(self) -> None:
        self.connected, self.problem = True, None
        self._on_gap()

    def _received(self, event: ServerSentEvent) -> None:
        if event.name != "message":  # missing, reset, dropped
            self._on_gap()
            return
        try:
            # json reads a lone surrogate, which Java allows in names; msgspec rejects it.
            affected = affected_routes(json.loads(event.data))
        except (ValueError, TypeError, AttributeError, RecursionError):
            self._on_gap()
        else:
            self._on_event(affected)
