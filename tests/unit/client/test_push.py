"""Push: the routes that an event affects, and streams that are lost, split or rejected."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping

import pytest

from routebook.client.push import ROUTE_KINDS, AffectedRoutes, PushStream, affected_routes
from routebook.journal.record import KINDS
from tests.support.asynchronous import asynchronous

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: routebook\n\n"


def test_kinds_are_those_of_the_journal() -> None:
    assert set(ROUTE_KINDS) <= set(KINDS)


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (
            {"kind": "topics_changed", "broker": "b", "added": {"t1": [6, 8, 8, 0]}, "removed": ["t2"]},
            AffectedRoutes(topics=frozenset({"t1", "t2"})),
        ),
        ({"kind": "topic_deleted", "topic": "t"}, AffectedRoutes(topics=frozenset({"t"}))),
        (
            {"kind": "kv_changed", "namespace": "ORDER_TOPIC_CONFIG", "key": "t"},
            AffectedRoutes(topics=frozenset({"t"})),
        ),
        ({"kind": "kv_changed", "namespace": "other", "key": "t"}, AffectedRoutes()),
        ({"kind": "broker_down", "broker": "b"}, AffectedRoutes(broker="b")),
        ({"kind": "permission_wiped", "broker": "b", "topics": 3}, AffectedRoutes(broker="b")),
    ],
)
def test_affected_routes_of_a_record(record: dict[str, object], wanted: AffectedRoutes) -> None:
    assert affected_routes(record) == wanted


class Calls:
    """The calls that a stream made."""

    def __init__(self) -> None:
        self.seen: list[AffectedRoutes | str] = []
        self._more = asyncio.Event()

    def on_event(self, what: AffectedRoutes) -> None:
        self._add(what)

    def on_gap(self) -> None:
        self._add("gap")

    async def until(self, count: int) -> list[AffectedRoutes | str]:
        async with asyncio.timeout(20):
            while len(self.seen) < count:
                self._more.clear()
                await self._more.wait()
        return self.seen

    def _add(self, what: AffectedRoutes | str) -> None:
        self.seen.append(what)
        self._more.set()


Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def stream_of(*connections: Serve, count: int) -> tuple[list[AffectedRoutes | str], PushStream]:
    """Return the calls of a stream whose server handles each connection as given, then closes the rest."""
    left = list(connections)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if left:
            await left.pop(0)(writer)
        writer.close()

    seen_by = Calls()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        pushed = PushStream(f"http://127.0.0.1:{port}/", on_event=seen_by.on_event, on_gap=seen_by.on_gap)
        task = asyncio.create_task(pushed.run())
        seen = await seen_by.until(count)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return seen, pushed


def sent(record: Mapping[str, object], event: str = "") -> bytes:
    name = f"event: {event}\n" if event else ""
    return f"id: 7\n{name}data: {json.dumps(record, ensure_ascii=False)}\n\n".encode()


@asynchronous
async def test_an_event_in_single_bytes_and_a_name_with_a_line_separator() -> None:
    record = {"kind": "topic_deleted", "topic": "odd\u2028name"}

    async def byte_by_byte(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for byte in sent(record):
            writer.write(bytes([byte]))
            await writer.drain()

    seen, _ = await stream_of(byte_by_byte, count=2)
    assert seen[:2] == ["gap", AffectedRoutes(topics=frozenset({"odd\u2028name"}))]


@asynchronous
async def test_the_stream_reconnects_after_a_loss_an_error_status_and_garbage() -> None:
    async def one(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + sent({"kind": "broker_up", "broker": "b"}))

    async def refuse(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 503 no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    async def garbage(writer: asyncio.StreamWriter) -> None:
        writer.write(b"\0\1\2\3")

    seen, pushed = await stream_of(one, refuse, garbage, one, count=4)
    assert seen == ["gap", AffectedRoutes(broker="b")] * 2
    assert not pushed.connected


@asynchronous
async def test_a_dropped_stream_counts_as_a_gap() -> None:
    async def dropped(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + sent({"resume_after": 7}, "dropped"))

    seen, _ = await stream_of(dropped, count=2)
    assert seen[:2] == ["gap", "gap"]


@asynchronous
async def test_an_event_with_a_lone_surrogate_is_read() -> None:
    async def half_a_pair(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b'data: {"kind":"topic_deleted","topic":"a\\ud800b"}\n\n')

    seen, _ = await stream_of(half_a_pair, count=2)
    assert seen[:2] == ["gap", AffectedRoutes(topics=frozenset({"a\ud800b"}))]


@pytest.mark.parametrize("data", ["{", "[]", '{"kind":"topics_changed","added":1}'])
@asynchronous
async def test_an_event_that_cannot_be_read_counts_as_a_gap(data: str) -> None:
    async def unreadable(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + f"data: {data}\n\n".encode())

    seen, _ = await stream_of(unreadable, count=2)
    assert seen[:2] == ["gap", "gap"]
