"""Which connections the idle sweep closes."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from routebook.events import DownReason
from routebook.server.net.connection import Connection
from routebook.server.net.connection_state import State
from routebook.server.net.idle import IdleSweep
from tests.support.asynchronous import asynchronous


class FakeConnection:
    """The part of a connection that the sweep uses."""

    def __init__(self, *, idle_s: float, is_closing: bool = False, write_buffer_size: int = 0) -> None:
        self.last_active = self.opened_at = asyncio.get_running_loop().time() - idle_s
        self.state = State.CLOSING if is_closing else State.READING
        self.flow = SimpleNamespace(write_buffer_size=write_buffer_size)
        self.requester = SimpleNamespace(has_sent_request=True)
        self.partial_frame: int | None = None
        self.closed_for: DownReason | None = None
        self.exceeded: str | None = None

    def close(self, reason: DownReason) -> None:
        self.closed_for = reason

    def exceed(self, limit: str, _why: str) -> None:
        self.exceeded = limit


def is_closed_as_idle(connection: FakeConnection, *, limit_s: float, unsent_before: int = 0) -> bool:
    reported: list[Connection] = []
    sweep = IdleSweep({1: cast("Connection", connection)}, limit_s=limit_s, on_idle=reported.append)
    sweep._unsent[1] = unsent_before
    sweep.start()
    sweep.stop()
    assert bool(reported) == (connection.closed_for is not None)
    return connection.closed_for is DownReason.IDLE


@asynchronous
async def test_a_connection_that_is_idle_for_longer_than_the_limit_is_closed() -> None:
    assert is_closed_as_idle(FakeConnection(idle_s=121), limit_s=120)
    assert not is_closed_as_idle(FakeConnection(idle_s=119), limit_s=120)


@asynchronous
async def test_a_limit_of_zero_never_closes() -> None:
    assert not is_closed_as_idle(FakeConnection(idle_s=1e6), limit_s=0)


@asynchronous
async def test_a_peer_that_reads_slowly_is_not_idle_and_one_that_stopped_reading_is() -> None:
    assert not is_closed_as_idle(FakeConnection(idle_s=1000, write_buffer_size=400), limit_s=120, unsent_before=500)
    assert is_closed_as_idle(FakeConnection(idle_s=1000, write_buffer_size=400), limit_s=120, unsent_before=400)
    assert not is_closed_as_idle(FakeConnection(idle_s=1000), limit_s=120, unsent_before=400)


@asynchronous
async def test_a_closing_connection_is_closed_after_the_linger_time() -> None:
    assert is_closed_as_idle(FakeConnection(idle_s=11, is_closing=True), limit_s=0)
    assert not is_closed_as_idle(FakeConnection(idle_s=9, is_closing=True), limit_s=0)


@asynchronous
async def test_the_next_sweep_is_when_the_first_connection_becomes_idle() -> None:
    connection = FakeConnection(idle_s=0)
    closed = asyncio.Event()
    sweep = IdleSweep({1: cast("Connection", connection)}, limit_s=0.3, on_idle=lambda _: closed.set())
    sweep.start()
    await asyncio.wait_for(closed.wait(), 20)
    sweep.stop()
    assert connection.closed_for is DownReason.IDLE


def sweep_of(connection: FakeConnection, *, first_s: float = 0, frame_s: float = 0) -> IdleSweep:
    connections = {1: cast("Connection", connection)}
    return IdleSweep(connections, limit_s=0, on_idle=lambda _: None, first_s=first_s, frame_s=frame_s)


@pytest.mark.parametrize(
    ("idle_s", "has_sent_request", "limit_s", "exceeded"),
    [
        (31, False, 30, "first_request_seconds"),
        (29, False, 30, None),
        (31, True, 30, None),
        (1e6, False, 0, None),
    ],
)
@asynchronous
async def test_a_connection_without_a_first_request_is_closed(
    idle_s: float, has_sent_request: bool, limit_s: float, exceeded: str | None
) -> None:
    connection = FakeConnection(idle_s=idle_s)
    connection.requester.has_sent_request = has_sent_request
    sweep = sweep_of(connection, first_s=limit_s)
    sweep.start()
    sweep.stop()
    assert connection.exceeded == exceeded


@pytest.mark.parametrize(
    ("frame", "before", "age_s", "exceeded"),
    [
        (7, 7, 31, "frame_seconds"),
        (7, 7, 29, None),
        (8, 7, 31, None),  # another frame
        (None, 7, 31, None),  # it is complete, or reading is paused
        (7, None, 0, None),
    ],
)
@asynchronous
async def test_a_frame_that_stays_incomplete_closes_the_connection(
    frame: int | None, before: int | None, age_s: float, exceeded: str | None
) -> None:
    connection = FakeConnection(idle_s=0)
    connection.partial_frame = frame
    sweep = sweep_of(connection, frame_s=30)
    if before is not None:
        sweep._partial_frames[1] = (before, asyncio.get_running_loop().time() - age_s)
    sweep.start()
    sweep.stop()
    assert connection.exceeded == exceeded
    tracked = sweep._partial_frames.get(1)
    assert (None if tracked is None else tracked[0]) == (None if exceeded else frame)
