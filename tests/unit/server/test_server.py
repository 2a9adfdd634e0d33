"""A server inside this process: start, unexpected failures, stop."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from routebook.kv import KvStore
from routebook.server.server import Server
from routebook.settings import Settings, from_values
from tests.support.remoting import put_kv, register, route
from tests.support.remoting_frames import Reply, Request

T = TypeVar("T")
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def settings(home: Path, **values: str) -> Settings:
    given = {"listenPort": "0", **{key.replace("_", "."): value for key, value in values.items()}}
    return Settings.build([from_values(given)], home=str(home))


def with_server(given: Settings, play: Callable[[Server], Awaitable[T]]) -> T:
    async def run() -> T:
        server = Server.open(given, kv=KvStore())
        await server.start()
        try:
            return await play(server)
        finally:
            await server.stop()

    return asyncio.run(run())


async def connect(server: Server) -> Streams:
    return await asyncio.open_connection("127.0.0.1", server.port)


async def ask(streams: Streams, request: Request) -> Reply:
    reader, writer = streams
    writer.write(request.encode())
    return await receive(reader)


async def receive(reader: asyncio.StreamReader) -> Reply:
    length = await asyncio.wait_for(reader.readexactly(4), 20)
    return Reply.parse(length + await asyncio.wait_for(reader.readexactly(int.from_bytes(length, "big")), 20))


async def close(*streams: Streams) -> None:
    for _, writer in streams:
        writer.close()
        await writer.wait_closed()


def test_start_and_stop_in_one_process(tmp_path: Path) -> None:
    async def play(server: Server) -> None:
        streams = await connect(server)
        assert (await ask(streams, register())).code == 0
        assert (await ask(streams, route("TopicTest"))).code == 0
        assert server.connections == 1
        assert server.address == f"127.0.0.1:{server.port}"
        port = f"listenPort={server.port}\n".encode()
        assert port in (await ask(streams, Request(code=319))).body
        await close(streams)

    with_server(settings(tmp_path), play)


def test_an_unexpected_failure_is_answered_and_the_connection_stays_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(server: Server) -> tuple[Reply, Reply, Reply]:
        streams = await connect(server)
        with monkeypatch.context() as broken:
            broken.setattr(KvStore, "put", None)
            failed = await ask(streams, put_kv("k", "v"))
        better, other = await ask(streams, put_kv("k", "v")), await ask(streams, route("nowhere"))
        await close(streams)
        return failed, better, other

    with caplog.at_level(logging.ERROR, logger="routebook"):
        failed, better, other = with_server(settings(tmp_path), play)
    assert (failed.code, failed.header["opaque"]) == (1, 1)
    assert failed.remark == "internal error in request 100: TypeError; see the log of the server"
    assert (better.code, other.code) == (0, 17)
    assert [record.message for record in caplog.records] == ["request failed"]


def test_the_serialize_type_setting_selects_the_header_form(tmp_path: Path) -> None:
    async def play(server: Server) -> bytes:
        reader, writer = streams = await connect(server)
        writer.write(Request(code=904, ext={"clusterName": "c", "brokerAddr": "a"}).encode())
        answer = await asyncio.wait_for(reader.readexactly(29), 20)
        await close(streams)
        return answer

    expected = bytes.fromhex("00000019 01000015 0000 00 0201 00000001 00000001 00000000 00000000")
    assert with_server(settings(tmp_path, routebook_serializeType="ROCKETMQ"), play) == expected


def test_stop_answers_requests_that_wait_for_the_disk(tmp_path: Path) -> None:
    count = 300  # more than one connection may wait for at a time

    async def play(server: Server) -> set[int]:
        reader, writer = streams = await connect(server)
        writer.write(b"".join(put_kv(f"k{n}", "v", opaque=n).encode() for n in range(count)))
        await writer.drain()
        assert (await receive(reader)).code == 0
        stopping = asyncio.ensure_future(server.stop())
        opaques = {(await receive(reader)).header["opaque"] for _ in range(count - 1)}
        assert await asyncio.wait_for(reader.read(), 20) == b""
        await close(streams)
        await stopping
        return opaques

    assert len(with_server(settings(tmp_path), play)) == count - 1


def test_stop_can_be_called_twice(tmp_path: Path) -> None:
    async def play(server: Server) -> None:
        await server.stop()
        await server.stop()

    with_server(settings(tmp_path), play)


@pytest.mark.parametrize("marks", [("1000", "500"), ("0", "500"), ("0", "0")])
def test_water_marks(tmp_path: Path, marks: tuple[str, str]) -> None:
    high, low = marks

    async def play(server: Server) -> tuple[int, int]:
        streams = await connect(server)
        assert (await ask(streams, route("nowhere"))).code == 17
        found = server._port.shared.transport.watermarks
        await close(streams)
        return found

    given = settings(tmp_path, writeBufferHighWaterMark=high, writeBufferLowWaterMark=low)
    assert with_server(given, play) == ((1000, 500) if marks == ("1000", "500") else (65536, 32768))
