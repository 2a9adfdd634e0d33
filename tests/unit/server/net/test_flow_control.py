"""Flow control: what pauses reading and what counts against the memory limit."""

import asyncio

import pytest

from routebook.server.net.flow_control import Buffers, FlowControl, watermarks
from routebook.server.net.outbox import Outbox
from routebook.settings import Settings, from_values
from tests.support.transports import FakeTransport


def flow_over(transport: FakeTransport, buffers: Buffers | None = None) -> FlowControl:
    return FlowControl(transport, Outbox(), buffers or Buffers(0, lambda: None), (1000, 500))


def test_full_buffers_call_for_free_memory() -> None:
    held: list[int] = []
    buffers = Buffers(100, lambda: held.append(buffers.held))
    buffers.hold(100)
    buffers.hold(1)
    assert held == [101]
    buffers.hold(-50)
    assert not buffers.is_full
    assert held == [101]


def test_a_blocked_peer_pauses_reading_and_its_unread_answers_count() -> None:
    transport, buffers = FakeTransport(), Buffers(0, lambda: None)
    flow = flow_over(transport, buffers)
    transport.write_buffer_size = 70_000
    flow.block()
    assert transport.is_reading() is False
    assert (flow.unread, buffers.held) == (70_000, 70_000)
    transport.write_buffer_size = 80_000
    flow.count_unread()
    assert buffers.held == 80_000
    flow.unblock()
    assert (flow.is_blocked, flow.unread, buffers.held) == (False, 0, 0)


def test_the_write_buffer_of_a_peer_that_reads_does_not_count() -> None:
    transport, buffers = FakeTransport(), Buffers(0, lambda: None)
    flow = flow_over(transport, buffers)
    transport.write_buffer_size = 400
    flow.count_unread()
    assert buffers.held == 0


def test_a_transport_that_closes_is_neither_written_to_nor_paused() -> None:
    transport = FakeTransport()
    flow = flow_over(transport)
    transport.close()
    flow.write([b"answer"])
    flow.pause_reading()
    flow.resume_reading()
    assert transport.written == b""


def test_answers_are_encrypted_where_the_connection_uses_tls() -> None:
    async def play() -> None:
        transport = FakeTransport()
        flow = flow_over(transport)
        flow.encrypt = bytes.upper
        flow.write([b"an", b"swer"])
        flow.flush()
        assert transport.written == b"ANSWER"

    asyncio.run(play())


def test_flush_reports_whether_the_peer_reads() -> None:
    async def play() -> None:
        transport = FakeTransport()
        flow = flow_over(transport)
        flow.write([b"an", b"swer"])
        assert transport.written == b""
        assert flow.flush()
        assert transport.written == b"answer"
        flow.block()
        assert not flow.flush()

    asyncio.run(play())


@pytest.mark.parametrize(
    ("high", "low", "expected"),
    [(1000, 500, (1000, 500)), (1000, 2000, (1000, 1000)), (0, 500, (65536, 32768)), (0, 0, (65536, 32768))],
)
def test_watermarks_count_only_if_both_are_set(high: int, low: int, expected: tuple[int, int]) -> None:
    given = {"writeBufferHighWaterMark": str(high), "writeBufferLowWaterMark": str(low)}
    assert watermarks(Settings.build([from_values(given)])) == expected
