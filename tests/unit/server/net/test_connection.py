"""One connection over a fake transport: what it answers, and when it reads, drains and closes."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from routebook.events import DownReason
from routebook.server.net import limits, request_loop
from routebook.server.net.connection import Connection
from routebook.server.net.connection_state import State
from routebook.server.net.flow_control import MAX_DEFERRED
from routebook.server.server import Server
from routebook.wire.codec import encode
from routebook.wire.command import Command
from routebook.wire.peer import Peer
from tests.support.asynchronous import asynchronous
from tests.support.in_process_server import running, until
from tests.support.transports import FakeTransport

OPAQUES = count(1)


def look_up(topic: str = "nowhere") -> bytes:
    return encode(Command(code=105, opaque=next(OPAQUES), ext={"topic": topic}))


def put_kv() -> bytes:
    opaque = next(OPAQUES)
    return encode(Command(code=100, opaque=opaque, ext={"namespace": "n", "key": "k", "value": str(opaque)}))


class Connected:
    """A connection of a running server, with a transport that the test controls."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.transport = FakeTransport()
        self.connection = Connection(server._port.shared, lambda: 1.0)
        self.connection.connection_made(self.transport)

    def state(self) -> State:
        return self.connection.state

    def receive(self, data: bytes) -> None:
        self.connection.data_received(data)
        self.server._port.shared.outbox.flush()

    def answers(self) -> Iterator[Command]:
        """Return the answers since the last call."""
        peer = Peer()
        peer.feed(self.transport.written)
        self.transport.written = b""
        while (answer := peer.next_command()) is not None:
            yield answer

    def codes(self) -> list[int]:
        return [answer.code for answer in self.answers()]


@asynccontextmanager
async def connected(home: Path, **settings: Any) -> AsyncIterator[Connected]:
    async with running(home, **settings) as server:
        one = Connected(server)
        yield one
        if one.state() is not State.CLOSED:
            one.connection.connection_lost(None)


@pytest.fixture(autouse=True)
def _unlimited_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a turn must not depend on how busy the machine is."""
    monkeypatch.setattr(request_loop, "TURN_NS", 1 << 62)
    monkeypatch.setattr(limits, "_SHARES", 0)


@asynchronous
async def test_requests_are_answered_as_they_arrive(tmp_path: Path) -> None:
    async with connected(tmp_path) as one:
        request = look_up()
        one.receive(request[:20])
        assert one.connection.buffered_bytes == 20
        one.receive(request[20:] + look_up())
        assert one.codes() == [17, 17]
        assert one.connection.buffered_bytes == 0
        assert one.state() is State.READING


@asynchronous
async def test_an_incomplete_frame_has_a_number(tmp_path: Path) -> None:
    async with connected(tmp_path) as one:
        numbers = []
        for _ in range(2):
            request = look_up()
            one.receive(request[:20])
            numbers.append(one.connection.partial_frame)
            one.receive(request[20:])
            numbers.append(one.connection.partial_frame)
        assert numbers == [0, None, 1, None]


@asynchronous
async def test_a_peer_that_does_not_read_is_not_read_from(tmp_path: Path) -> None:
    async with connected(tmp_path) as one:
        one.transport.write_buffer_size = 100_000
        one.connection.pause_writing()
        assert one.state() is State.ANSWERING
        assert not one.transport.is_reading()
        assert one.connection.buffered_bytes == 100_000
        one.receive(look_up())
        assert one.codes() == []
        one.connection.resume_writing()
        one.server._port.shared.outbox.flush()
        assert one.codes() == [17]
        assert one.transport.is_reading()
        assert one.state() is State.READING


@asynchronous
async def test_a_peer_with_too_many_unread_answers_is_closed(tmp_path: Path) -> None:
    async with connected(tmp_path, routebook_limits_unreadBytes=200_000) as one:
        one.transport.write_buffer_size = 200_001
        one.connection.pause_writing()
        assert one.transport.is_aborted
        assert one.state() is State.CLOSING
        assert one.server._port.shared.buffers.held == 0
        assert one.server.nameserver.exceeded["unread_bytes"] == 1


@asynchronous
async def test_other_connections_have_their_turn_when_time_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_loop, "TURN_NS", 0)  # each request takes longer
    async with connected(tmp_path) as one:
        one.receive(b"".join(look_up(topic) for topic in "abcd"))
        assert len(one.codes()) == 1
        assert one.state() is State.ANSWERING
        assert not one.transport.is_reading()
        await until(lambda: one.state() is State.READING, "the next turn")
        one.server._port.shared.outbox.flush()
        assert len(one.codes()) == 3
        assert one.transport.is_reading()


@asynchronous
async def test_reading_is_paused_at_the_maximum_of_deferred_answers(tmp_path: Path) -> None:
    async with connected(tmp_path) as one:
        one.receive(b"".join(put_kv() for _ in range(MAX_DEFERRED + 2)))
        assert one.codes() == []
        assert one.state() is State.DEFERRING
        assert not one.transport.is_reading()
        await until(lambda: not one.connection.flow.deferred, "all answers")
        assert one.codes() == [0] * (MAX_DEFERRED + 2)
        assert one.state() is State.READING
        assert one.transport.is_reading()


@asynchronous
async def test_a_drained_connection_is_half_closed_and_drops_what_still_arrives(tmp_path: Path) -> None:
    async with connected(tmp_path) as one:
        one.receive(look_up())
        one.connection.drain()
        assert one.codes() == [17]
        assert one.transport.has_eof
        assert one.state() is State.CLOSING
        one.receive(look_up())
        assert one.codes() == []
        assert one.connection.eof_received() is False


@asynchronous
async def test_draining_waits_for_deferred_answers(tmp_path: Path) -> None:
    async with connected(tmp_path) as one:
        one.receive(put_kv())
        one.connection.drain()
        assert one.state() is State.DRAINING
        assert not one.transport.has_eof
        await until(lambda: one.transport.has_eof, "the answer is written and the connection half-closed")
        assert one.codes() == [0]


@asynchronous
async def test_a_peer_that_ends_its_side_still_gets_its_answers(tmp_path: Path) -> None:
    async with connected(tmp_path) as one:
        one.receive(put_kv())
        assert one.connection.eof_received() is True
        assert one.state() is State.DRAINING
        await until(one.transport.is_closing, "the connection is closed after the answer")
        assert one.codes() == [0]


@asynchronous
async def test_a_peer_that_ends_its_side_without_open_requests_is_closed(tmp_path: Path) -> None:
    async with connected(tmp_path) as one:
        assert one.connection.eof_received() is False
        assert one.state() is State.CLOSING


@pytest.mark.parametrize("unread", [0, 10])
@asynchronous
async def test_close_drops_unread_answers(tmp_path: Path, unread: int) -> None:
    async with connected(tmp_path) as one:
        one.transport.write_buffer_size = unread
        one.connection.close(DownReason.IDLE)
        assert one.transport.is_closing()
        assert one.transport.is_aborted == bool(unread)


@asynchronous
async def test_bytes_that_are_not_a_frame_close_the_connection(tmp_path: Path) -> None:
    async with connected(tmp_path) as one:
        one.receive(look_up() + b"\xff\xff\xff\xff")
        assert one.codes() == [17]
        assert one.transport.is_closing()
        assert one.state() is State.CLOSING


@asynchronous
async def test_a_connection_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    async with connected(tmp_path, routebook_limits_connectionsPerAddress=1) as one:
        refused = Connected(one.server)
        assert refused.transport.is_aborted
        assert refused.state() is State.CLOSED
        refused.connection.connection_lost(None)
        assert one.server.connections == 1


@asynchronous
async def test_a_deferred_answer_for_a_lost_connection_is_dropped(tmp_path: Path) -> None:
    async with connected(tmp_path) as one:
        one.receive(put_kv())
        one.connection.connection_lost(None)
        assert one.connection.flow.deferred == 1
        await until(lambda: not one.connection.flow.deferred, "the answer is dropped")
        assert one.codes() == []
        assert one.state() is State.CLOSED
