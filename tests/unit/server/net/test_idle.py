"""Which connections the sweep closes."""

import asyncio
from typing import cast

from routebook.events import DownReason
from routebook.server.net.connection import Connection
from routebook.server.net.idle import IdleSweep


class FakeConnection:
    """As much of a connection as the sweep looks at."""

    def __init__(self, *, idle_s: float, ended: bool = False, unsent: int = 0, write_buffer_size: int = 0) -> None:
        self.last_active = asyncio.get_running_loop().time() - idle_s
        self.ended = ended
        self.unsent = unsent
        self.write_buffer_size = write_buffer_size
        self.closed_for: DownReason | None = None
        self.begun = self.last_active
        self.asked = True
        self.frame_in_parts: int | None = None
        self.frame_mark: tuple[int, float] | None = None
        self.exceeded: str | None = None

    def close(self, reason: DownReason) -> None:
        self.closed_for = reason

    def exceed(self, limit: str, _why: str) -> None:
        self.exceeded = limit


async def swept(connection: FakeConnection, *, limit_s: float) -> bool:
    noted: list[Connection] = []
    sweep = IdleSweep({1: cast("Connection", connection)}, limit_s=limit_s, idle=noted.append)
    sweep.start()
    sweep.stop()
    assert bool(noted) == (connection.closed_for is not None)
    return connection.closed_for is DownReason.IDLE


def test_idle_for_longer_than_the_limit() -> None:
    async def play() -> None:
        assert await swept(FakeConnection(idle_s=121), limit_s=120)
        assert not await swept(FakeConnection(idle_s=119), limit_s=120)

    asyncio.run(play())


def test_zero_never_closes() -> None:
    async def play() -> None:
        assert not await swept(FakeConnection(idle_s=1e6), limit_s=0)

    asyncio.run(play())


def test_a_peer_that_reads_slowly_is_not_idle_and_one_that_stopped_reading_is() -> None:
    async def play() -> None:
        assert not await swept(FakeConnection(idle_s=1000, unsent=500, write_buffer_size=400), limit_s=120)
        assert await swept(FakeConnection(idle_s=1000, unsent=400, write_buffer_size=400), limit_s=120)

    asyncio.run(play())


def test_a_connection_that_should_be_closed_does_not_linger() -> None:
    async def play() -> None:
        assert await swept(FakeConnection(idle_s=11, ended=True), limit_s=0)
        assert not await swept(FakeConnection(idle_s=9, ended=True), limit_s=0)

    asyncio.run(play())


def test_looks_again_when_the_first_falls_due() -> None:
    async def play() -> None:
        connection = FakeConnection(idle_s=0)
        closed = asyncio.Event()
        sweep = IdleSweep({1: cast("Connection", connection)}, limit_s=0.3, idle=lambda _: closed.set())
        sweep.start()
        await asyncio.wait_for(closed.wait(), 20)
        sweep.stop()
        assert connection.closed_for is DownReason.IDLE

    asyncio.run(play())


async def exceeded(connection: FakeConnection, *, first_s: float = 0, frame_s: float = 0) -> str | None:
    """Which limit the connection has passed, if any."""
    connections = {1: cast("Connection", connection)}
    sweep = IdleSweep(connections, limit_s=0, idle=lambda _connection: None, first_s=first_s, frame_s=frame_s)
    sweep.start()
    sweep.stop()
    return connection.exceeded


def test_a_first_request_that_does_not_come() -> None:
    async def play() -> None:
        for idle_s, asked, limit_s, passed in ((31, False, 30, True), (29, False, 30, False), (31, True, 30, False)):
            connection = FakeConnection(idle_s=idle_s)
            connection.asked = asked
            assert await exceeded(connection, first_s=limit_s) == ("first_request_seconds" if passed else None)
        silent = FakeConnection(idle_s=1e6)
        silent.asked = False
        assert await exceeded(silent) is None

    asyncio.run(play())


def test_a_frame_that_does_not_become_whole() -> None:
    async def play() -> None:
        now = asyncio.get_running_loop().time()
        for frame, mark, passed in (
            (7, (7, now - 31), True),  # the same as 31 s ago
            (7, (7, now - 29), False),
            (8, (7, now - 31), False),  # another one by now
            (None, (7, now - 31), False),  # it is whole, or this side does not read
            (7, None, False),
        ):
            connection = FakeConnection(idle_s=0)
            connection.frame_in_parts, connection.frame_mark = frame, mark
            assert await exceeded(connection, frame_s=30) == ("frame_seconds" if passed else None)
            if frame is None:
                assert connection.frame_mark is None
            elif not passed:
                assert connection.frame_mark is not None
                assert connection.frame_mark[0] == frame

    asyncio.run(play())
