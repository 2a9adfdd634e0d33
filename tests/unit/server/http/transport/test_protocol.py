"""The limits of the HTTP port, over real connections: nobody holds one by doing nothing."""

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
    listener = HttpListener(host="127.0.0.1", port=0, listening=lambda _: up.set())
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
async def test_a_connection_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.05)
    with rig() as some:
        async with listening(some) as listener:
            assert await ask(listener.port, b"") == b""
            assert await ask(listener.port, b"GET /healthz HTTP/1.1\r\nHost: loc") == b""


@asynchronous
async def test_a_second_request_has_to_be_whole_in_time_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.2)
    with rig() as some:
        async with listening(some) as listener:
            answer = await ask(listener.port, GET + GET[:20])
            assert answer.count(b"200 OK") == 1


@asynchronous
async def test_a_head_without_end_is_refused() -> None:
    with rig() as some:
        async with listening(some) as listener:
            begun = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
            most = protocol.HEAD_BYTES - len(begun)
            # not a byte more than is looked at: what is left unread would reset the connection
            assert (await ask(listener.port, begun + b"X: y\r\n" * (most // 6 + 1))).startswith(b"HTTP/1.1 400 ")
            fits = begun + b"Connection: close\r\n" + b"X: y\r\n" * (most // 6 - 10) + b"\r\n"
            assert (await ask(listener.port, fits)).startswith(b"HTTP/1.1 200 ")


@asynchronous
async def test_a_body_is_not_taken_for_a_head() -> None:
    body = b"x" * (2 * protocol.HEAD_BYTES)
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with rig() as some:
        async with listening(some) as listener:
            assert (await ask(listener.port, head + body)).startswith(b"HTTP/1.1 200 ")


@asynchronous
async def test_what_is_not_http_is_refused() -> None:
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
async def test_a_body_that_is_never_sent_ends_with_the_answer() -> None:
    with rig() as some:
        async with listening(some) as listener:
            head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"
            assert (await ask(listener.port, head + b"x" * 1000)).startswith(b"HTTP/1.1 200 ")


@asynchronous
async def test_requests_one_after_another_on_one_connection() -> None:
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
async def test_a_watcher_that_does_not_read_is_cut_off_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "STALL_S", 0.3)
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
                while b"the last" not in (chunk := await reader.read(1 << 20)):
                    received += len(chunk)

            reading = asyncio.ensure_future(read())
            for number in range(300):
                some.record(change(number, namespace="x" * 100_000))
                await asyncio.sleep(0.001)
            await until(lambda: some.context.watchers == 1)
            some.record(change(1, namespace="the last"))
            await reading
            assert received > 300 * 100_000
            assert some.feed.dropped <= 1
            stuck.close()
            writer.close()
        assert some.context.watchers == 0


@asynchronous
async def test_stopping_ends_streams_with_a_word() -> None:
    with rig() as some:
        async with listening(some) as listener:
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await until(lambda: some.feed.readers == 1)
        assert b"event: stopping" in await reader.read()
        writer.close()


@asynchronous
async def test_stopping_before_it_serves() -> None:
    with rig() as some:
        listener = HttpListener(host="127.0.0.1", port=0, listening=lambda _: None)
        listener.start(some.context)
        await asyncio.sleep(0)
        await listener.stop()
        never = HttpListener(host="127.0.0.1", port=0)
        await never.stop()
