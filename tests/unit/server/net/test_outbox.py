"""The outbox sends answers of many connections together."""

import asyncio

from routebook.server.net.outbox import Outbox
from tests.support.asynchronous import asynchronous
from tests.support.transports import FakeTransport


@asynchronous
async def test_answers_are_sent_at_the_end_of_the_turn() -> None:
    outbox, first, second = Outbox(), FakeTransport(), FakeTransport()
    outbox.put(first, (b"a", b"b"))
    outbox.put(second, (b"c",))
    assert (first.written, second.written) == (b"", b"")
    await asyncio.sleep(0)
    assert (first.written, second.written) == (b"ab", b"c")


@asynchronous
async def test_a_long_answer_is_written_at_once_after_those_that_wait() -> None:
    outbox, transport = Outbox(), FakeTransport()
    outbox.put(transport, (b"first",))
    outbox.put(transport, (b"head", b"x" * 20_000))
    assert transport.written == b"firsthead" + b"x" * 20_000


@asynchronous
async def test_many_answers_are_sent_without_waiting_for_the_turn_to_end() -> None:
    outbox, transport = Outbox(), FakeTransport()
    for _ in range(64):
        outbox.put(transport, (b"x",))
    assert transport.written == b"x" * 64


@asynchronous
async def test_a_transport_that_closes_gets_nothing() -> None:
    outbox, transport = Outbox(), FakeTransport()
    outbox.put(transport, (b"x",))
    transport.close()
    outbox.flush()
    assert transport.written == b""
