"""One-way requests to brokers: none is lost while the previous connection closes."""

import asyncio
from collections.abc import Hashable

import pytest

from routebook.client.dial import Line
from routebook.server.net.outbound import oneway_sender
from routebook.server.net.outbound.oneway_sender import OnewaySender
from routebook.wire.command import Command, SerializeType
from tests.support.asynchronous import asynchronous


@asynchronous
async def test_a_request_during_the_close_of_an_unused_connection_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    closing, close_now = asyncio.Event(), asyncio.Event()
    real = Line.aclose

    async def slow(line: Line) -> None:
        closing.set()
        await close_now.wait()
        await real(line)

    monkeypatch.setattr(oneway_sender, "_IDLE_S", 0.01)
    monkeypatch.setattr(Line, "aclose", slow)
    results: asyncio.Queue[tuple[Hashable, str | None]] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    sender = OnewaySender(
        serialize_type=SerializeType.JSON,
        on_failure=lambda *_failure: None,
        on_result=lambda _address, _command, key, why: results.put_nowait((key, why)),
    )
    async with asyncio.timeout(60):
        sender.send(address, Command(1008, 1, flag=2), key="first")
        assert await results.get() == ("first", None)
        await closing.wait()
        sender.send(address, Command(1008, 2, flag=2), key="second")
        assert await results.get() == ("second", None)
        close_now.set()
        await sender.aclose()
    server.close()
    await server.wait_closed()
