"""Each limit on the NameServer port: it is enforced and counted, and other clients are served."""

import asyncio
import contextlib
import signal
import socket
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from routebook.server.server import Server
from tests.support.asynchronous import asynchronous
from tests.support.in_process_server import connected, running, until
from tests.support.process import serving
from tests.support.remoting import Client, put_kv, register
from tests.support.remoting_frames import Request, split_frames

ROUTE = Request(code=105, ext={"topic": "absent"})
HEARTBEAT = Request(code=904, ext={"clusterName": "c1", "brokerName": "broker-a", "brokerAddr": "127.0.0.1:10911"})


class Raw:
    """A raw connection in the event loop of the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def is_closed(self) -> bool:
        """Wait until the server closes the connection; False if it sends something first."""
        with contextlib.suppress(ConnectionError):
            return await self.reader.read(1) == b""
        return True

    async def is_served(self) -> bool:
        """Return whether a look-up is answered."""
        with contextlib.suppress(ConnectionError):
            self.writer.write(ROUTE.encode())
            return len(await self.reader.read(1 << 16)) > 0
        return False


@asynccontextmanager
async def raw(server: Server, *, source: str = "127.0.0.1") -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, local_addr=(source, 0))
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def exceeded(server: Server) -> dict[str, int]:
    return dict(server.nameserver.exceeded)


@asynchronous
async def test_connections_per_address(tmp_path: Path) -> None:
    async with (
        running(tmp_path, routebook_limits_connectionsPerAddress=2) as server,
        raw(server) as first,
        raw(server) as second,
    ):
        assert await first.is_served()
        assert await second.is_served()
        async with raw(server) as third:
            assert await third.is_closed()
        async with raw(server, source="127.0.0.2") as other:
            assert await other.is_served()
        assert await first.is_served()
        assert exceeded(server) == {"connections_per_address": 1}
        assert server.connections == 2 or await _until_connections(server, 2)
        first.writer.close()
        await _until_connections(server, 1)
        async with raw(server) as again:
            assert await again.is_served()


async def _until_connections(server: Server, count: int) -> bool:
    await until(lambda: server.connections == count, f"{count} connections")
    return True


@asynchronous
async def test_the_total_of_connections_leaves_a_reserve_for_brokers(tmp_path: Path) -> None:
    async with running(tmp_path, routebook_limits_connections=3) as server, contextlib.AsyncExitStack() as open_ones:
        broker = await open_ones.enter_async_context(raw(server, source="127.0.0.3"))
        broker.writer.write(register().encode())
        assert await broker.reader.read(1 << 16)
        for _ in range(2):
            assert await (await open_ones.enter_async_context(raw(server))).is_served()
        async with raw(server) as one_more:
            assert await one_more.is_closed()
        async with raw(server, source="127.0.0.3") as of_the_broker:
            assert await of_the_broker.is_served()
        assert exceeded(server) == {"connections": 1}


@asynchronous
async def test_a_flood_of_connections_leaves_no_state(tmp_path: Path) -> None:
    async with running(tmp_path, routebook_limits_connectionsPerAddress=10) as server, raw(server) as kept:
        assert await kept.is_served()
        for _ in range(20):
            async with contextlib.AsyncExitStack() as flood:
                for _ in range(25):
                    await flood.enter_async_context(raw(server))
                assert await kept.is_served()
        await _until_connections(server, 1)
        assert exceeded(server)["connections_per_address"] >= 200
        assert len(server._port.shared.protection.limits.hosts) == 1


@asynchronous
async def test_frame_bytes(tmp_path: Path) -> None:
    async with running(tmp_path, routebook_limits_frameBytes=4096) as server, raw(server) as other:
        async with connected(server) as talk:
            assert (await talk.ask(put_kv("k", "v" * 3000))).code == 0
        async with raw(server) as peer:
            peer.writer.write(put_kv("k", "v" * 5000).encode())
            assert await peer.is_closed()
        assert exceeded(server) == {"frame_bytes": 1}
        assert await other.is_served()


@asynchronous
async def test_limits_on_registrations(tmp_path: Path) -> None:
    limits: dict[str, Any] = {
        "routebook_maxTopicsPerRegistration": 3,
        "routebook_maxInflatedBytes": 1024,
        "routebook_limits_nameLength": 255,
    }
    async with running(tmp_path, **limits) as server, connected(server) as talk:
        many = await talk.ask(register(topics=["a", "b", "c", "d"]))
        assert (many.code, many.remark) == (1, "4 topics in one registration; the limit is 3")
        bomb = register()
        packed = Request(code=103, ext={**(bomb.ext or {}), "compressed": "true"}, body=zlib.compress(bytes(1 << 20)))
        assert (await talk.ask(packed)).remark == "the body inflates to more than 1024 bytes"
        for request in (
            register(topics=["a", "t" * 256]),
            register(broker="b" * 256),
            register(cluster="c" * 256),
            register(addr="a" * 256),
            put_kv("k" * 256, "v"),
            Request(code=217, ext={"topic": "t" * 256}, body=b'{"queueDatas":[{"brokerName":"b"}]}'),
        ):
            reply = await talk.ask(request)
            assert reply.code == 1
            assert "has 256 characters; the limit is 255: nothing was changed" in (reply.remark or "")
        assert (await talk.ask(put_kv("k" * 255, "v" * 10_000))).code == 0
        assert (await talk.ask(register(topics=["a", "t" * 255]))).code == 0
        assert exceeded(server) == {"topics_per_registration": 1, "inflated_bytes": 1, "name_length": 6}


@asynchronous
async def test_unread_bytes(tmp_path: Path) -> None:
    async with running(tmp_path, routebook_limits_unreadBytes=4 << 20) as server, raw(server) as other:
        async with connected(server) as talk:
            assert (await talk.ask(put_kv("small", "v" * (1 << 20)))).code == 0
            assert (await talk.ask(put_kv("large", "v" * (12 << 20)))).code == 0
        get = Request(code=101, ext={"namespace": "tests", "key": "large"})
        with socket.socket() as peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.connect(("127.0.0.1", server.port))
            peer.sendall(get.encode())
            await until(lambda: exceeded(server) == {"unread_bytes": 1}, "it is closed")
        await _until_connections(server, 1)
        assert server._port.shared.buffers.held == 0
        assert await other.is_served()


@asynchronous
async def test_requests_per_second(tmp_path: Path) -> None:
    async with running(tmp_path, routebook_limits_requestsPerSecond=5) as server, connected(server) as talk:
        codes = [(await talk.ask(ROUTE)).code for _ in range(30)]
        assert codes[:10] == [17] * 10
        assert codes.count(2) >= 15
        busy = await talk.ask(ROUTE)
        assert (busy.code, busy.remark) == (2, "[OVERLOAD]system busy, start flow control for a while")
        for request in (register(), HEARTBEAT, Request(code=901, ext={"brokerName": "broker-a"})):
            assert (await talk.ask(request)).code == 0
        assert (await talk.ask(ROUTE)).code == 17  # a registered broker may look up, too
        async with raw(server, source="127.0.0.2") as other:
            assert await other.is_served()
        assert exceeded(server)["requests_per_second"] == codes.count(2) + 1


@asynchronous
async def test_frame_seconds(tmp_path: Path) -> None:
    frame = put_kv("k", "v" * 100_000).encode()
    async with (
        running(tmp_path, routebook_limits_frameSeconds=1) as server,
        raw(server) as slow,
        raw(server) as quick,
    ):
        assert await quick.is_served()

        async def dribble() -> None:
            with contextlib.suppress(ConnectionError):
                for byte in frame:
                    slow.writer.write(bytes([byte]))
                    await asyncio.sleep(0.01)

        dribbling = asyncio.create_task(dribble())
        try:
            assert await slow.is_closed()
        finally:
            dribbling.cancel()
        assert exceeded(server) == {"frame_seconds": 1}
        for _ in range(3):  # each frame in parts; together they take longer than the limit
            quick.writer.write(frame[:50_000])
            await asyncio.sleep(0.5)
            quick.writer.write(frame[50_000:])
            assert await quick.reader.read(1 << 16)
        assert await quick.is_served()


@pytest.mark.parametrize("greeting", [b"", b"\0", b"PROXY TCP4 ", b"\x16\x03\x01"])
def test_first_request_seconds(tmp_path: Path, greeting: bytes) -> None:
    @asynchronous
    async def test() -> None:
        async with (
            running(tmp_path, routebook_limits_firstRequestSeconds=1, routebook_limits_frameSeconds=4) as server,
            raw(server) as asks,
        ):
            assert await asks.is_served()
            async with raw(server) as silent:
                silent.writer.write(greeting)
                assert await silent.is_closed()
            assert exceeded(server) == {"first_request_seconds": 1}
            assert await asks.is_served()

    test()


@asynchronous
async def test_buffer_bytes(tmp_path: Path) -> None:
    frame = put_kv("k", "v" * 390_000).encode()
    async with (
        running(tmp_path, routebook_limits_bufferBytes=700_000) as server,
        raw(server) as broker,
        raw(server) as small,
        raw(server) as large,
    ):
        held = server._port.shared.buffers
        broker.writer.write(register().encode())
        assert await broker.reader.read(1 << 16)
        for peer, size in ((broker, 300_000), (small, 100_000), (large, 200_000)):
            before = held.held
            peer.writer.write(frame[:size])
            await until(lambda before=before, size=size: held.held == before + size, "it is held")  # type: ignore[misc]
        small.writer.write(frame[100_000:350_000])  # exceeds the limit; now the largest except for the broker
        assert await small.is_closed()
        await until(lambda: held.held == 500_000, "what it had is free")
        assert exceeded(server) == {"buffer_bytes": 1}
        for peer, size in ((large, 200_000), (broker, 300_000)):
            peer.writer.write(frame[size:])
            assert await peer.reader.read(1 << 16)
        assert held.held == 0


@asynchronous
async def test_a_client_with_many_requests_does_not_block_others(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as greedy, socket.socket() as modest:
            modest.connect(("127.0.0.1", server.port))
            modest.setblocking(False)
            await _until_connections(server, 2)
            greedy.sendall(ROUTE.encode() * 1500)
            modest.sendall(ROUTE.encode())
            assert await asyncio.get_running_loop().sock_recv(modest, 1 << 16)
            greedy.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                answered = len(greedy.recv(1 << 20))
            everything, loop = answered, asyncio.get_running_loop()
            one = len(split_frames(await _answer_to(server))[0])
            assert answered < 1500 * one
            while everything < 1500 * one:
                everything += len(await loop.sock_recv(greedy, 1 << 20))
            assert everything == 1500 * one


async def _answer_to(server: Server) -> bytes:
    async with raw(server) as peer:
        peer.writer.write(ROUTE.encode())
        return await peer.reader.read(1 << 16)


def test_overload_rejects_look_ups_and_serves_brokers(tmp_path: Path) -> None:
    """A stopped process has requests waiting, which are late when it continues."""
    settings = {"routebook.limits.busyMillis": 300}
    with (
        serving(tmp_path, settings=settings) as process,
        Client(process.address) as client,
        Client(process.address) as broker,
        Client(process.address) as new_broker,
    ):
        assert broker.ask(register()).code == 0
        assert client.ask(ROUTE).code == 17
        assert new_broker.ask(HEARTBEAT).code == 0
        process.send(signal.SIGSTOP)
        try:
            client.send(ROUTE.encode())
            broker.send(HEARTBEAT.encode() + ROUTE.encode())
            new_broker.send(register(broker="broker-b", addr="127.0.0.1:2").encode())
            with contextlib.suppress(TimeoutError):
                client.socket.settimeout(1.5)
                client.socket.recv(1)
        finally:
            process.send(signal.SIGCONT)
        assert [reply.code for reply in client.receive_many(1)] == [2]
        assert [reply.code for reply in broker.receive_many(2)] == [0, 17]
        assert [reply.code for reply in new_broker.receive_many(1)] == [0]
        process.wait_for_log("look-ups are answered again")
        assert client.ask(ROUTE).code == 17
