"""Time and size limits of the HTTP port, over real connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from routebook.server.http.listener import HttpListener
from routebook.server.http.transport import protocol
from tests.support.asynchronous import asynchronous
from tests.support.http import Rig, change, rig, until

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@asynccontextmanager
async def listening(some: Rig) -> AsyncIterator[HttpListener]:
    up = asyncio.Event()
    listener = HttpListener(host="127.0.0.1", port=0, on_listening=lambda _: up.set())
    listener.start(some.context)
    try:
        await up.wait()
        yield listener
    finally:
        await listener.stop()


async def ask(port: int, data: bytes) -> bytes:
    """Send, and read until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


@asynchronous
async def test_an_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT_S", 0.05)
    with rig() as some:
        async with listening(some) as listener:
            assert await ask(listener.port, b"") == b""
            assert await ask(listener.port, b"GET /healthz HTTP/1.1\r\nHost: loc") == b""


@asynchronous
async def test_the_head_timeout_applies_to_a_second_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT_S", 0.2)
    with rig() as some:
        async with listening(some) as listener:
            answer = await ask(listener.port, GET + GET[:20])
            assert answer.count(b"200 OK") == 1


@asynchronous
async def test_an_oversized_head_is_rejected() -> None:
    with rig() as some:
        async with listening(some) as listener:
            begun = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
            most = protocol.MAX_HEAD_BYTES - len(begun)
            # not a byte more than the server reads: unread data would reset the connection
            assert (await ask(listener.port, begun + b"X: y\r\n" * (most // 6 + 1))).startswith(b"HTTP/1.1 400 ")
            fits = begun + b"Connection: close\r\n" + b"X: y\r\n" * (most // 6 - 10) + b"\r\n"
            assert (await ask(listener.port, fits)).startswith(b"HTTP/1.1 200 ")


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> bytes:
    """Send one request and read its response, keeping the connection open."""
    writer.write(data)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return head + await reader.readexactly(length)


@asynchronous
async def test_the_first_chunk_of_a_second_head_counts_against_the_limit() -> None:
    begin = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "
    with rig() as some:
        async with listening(some) as listener:
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            assert b" 200 " in await exchange(reader, writer, GET)
            fits = begin + b"y" * (protocol.MAX_HEAD_BYTES - len(begin) - 4) + b"\r\n\r\n"
            assert b" 200 " in await exchange(reader, writer, fits)
            too_long = begin + b"y" * (protocol.MAX_HEAD_BYTES - len(begin) + 1)
            assert b" 400 " in await exchange(reader, writer, too_long)
            assert await reader.read() == b""
            writer.close()


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"], ids=["unfinished", "complete"])
@asynchronous
async def test_a_pipelined_head_counts_against_the_limit(end: bytes) -> None:
    begin = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "
    with rig() as some:
        async with listening(some) as listener:
            answer = await ask(listener.port, GET + begin + b"y" * protocol.MAX_HEAD_BYTES + end)
            assert b" 400 " in answer


@asynchronous
async def test_an_empty_line_does_not_keep_a_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT_S", 0.1)
    with rig() as some:
        async with listening(some) as listener:
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            assert b" 200 " in await exchange(reader, writer, GET)
            writer.write(b"\r\n")
            assert await reader.read() == b""
            writer.close()


@asynchronous
async def test_a_body_does_not_count_as_a_head() -> None:
    body = b"x" * (2 * protocol.MAX_HEAD_BYTES)
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with rig() as some:
        async with listening(some) as listener:
            assert (await ask(listener.port, head + body)).startswith(b"HTTP/1.1 200 ")


@asynchronous
async def test_invalid_http_is_rejected() -> None:
    with rig() as some:
        async with listening(some) as listener:
            for data in (
                b"\x00\x00\x00\x50{}\r\n\r\n",
                b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
            ):
                assert (await ask(listener.port, data)).startswith(b"HTTP/1.1 400 ")
            no_host = await ask(listener.port, b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n")
            assert no_host.startswith(b"HTTP/1.1 421 ")


@asynchronous
async def test_the_response_closes_a_connection_whose_body_is_incomplete() -> None:
    with rig() as some:
        async with listening(some) as listener:
            head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"
            assert (await ask(listener.port, head + b"x" * 1000)).startswith(b"HTTP/1.1 200 ")


@asynchronous
async def test_pipelined_requests_are_answered_in_order() -> None:
    with rig() as some:
        async with listening(some) as listener:
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(GET * 3)
            for _ in range(3):
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                assert b'"alive"' in await reader.readexactly(length)
            writer.close()


@asynchronous
async def test_a_stalled_watcher_is_disconnected_and_others_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "STALL_TIMEOUT_S", 0.3)
    request = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with rig() as some:
        async with listening(some) as listener:
            _, stuck = await asyncio.open_connection("127.0.0.1", listener.port, limit=1)
            stuck.write(request)
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port, limit=1 << 26)
            writer.write(request)
            await until(lambda: some.feed.readers == 2)
            received = 0

            async def read() -> None:
                nonlocal received
                while b"the_last" not in (chunk := await reader.read(1 << 20)):
                    received += len(chunk)

            reading = asyncio.ensure_future(read())
            for number in range(300):
                some.record(change(number, namespace="x" * 100_000))
                await asyncio.sleep(0.001)
            await until(lambda: some.context.watchers == 1)
            some.record(change(1, namespace="the_last"))
            await reading
            assert received > 300 * 100_000
            assert some.feed.dropped <= 1
            stuck.close()
            writer.close()
        assert some.context.watchers == 0


@asynchronous
async def test_streams_end_with_a_stopping_event() -> None:
    with rig() as some:
        async with listening(some) as listener:
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await until(lambda: some.feed.readers == 1)
        assert b"event: stopping" in await reader.read()
        writer.close()


@asynchronous
async def test_stop_before_the_server_is_up() -> None:
    with rig() as some:
        listener = HttpListener(host="127.0.0.1", port=0, on_listening=lambda _: None)
        listener.start(some.context)
        await asyncio.sleep(0)
        await listener.stop()
        never = HttpListener(host="127.0.0.1", port=0)
        await never.stop()
