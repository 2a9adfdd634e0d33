"""The port of a simulated broker answers heartbeats and rejects messages."""

import asyncio
import contextlib

import pytest

from routebook.client.addresses import Address
from routebook.client.dial import open_link
from routebook.client.link import Link
from routebook.codes import FLAG_ONEWAY
from routebook.errors import ConnectionFailed
from routebook.fleet.live.broker_port import BrokerPort
from routebook.wire.command import Command, Reply
from tests.support.asynchronous import asynchronous


async def connect(port: BrokerPort) -> Link:
    return await open_link(Address("127.0.0.1", port.port), connect_timeout_s=5)


@asynchronous
async def test_heartbeats_are_answered_and_messages_rejected() -> None:
    async with BrokerPort() as port:
        link = await connect(port)
        assert [(await link.ask(Command(code, code))).code for code in (34, 35)] == [0, 0]
        declined = await link.ask(Command(310, 3, body=b"hello"))
        assert (declined.code, declined.remark) == (3, " request type 310 not supported")
        assert [command.code for command in port.received] == [34, 35, 310]
        assert port.connections == 1
        await link.aclose()


@asynchronous
async def test_a_test_can_supply_answers() -> None:
    async with BrokerPort(answers={310: lambda command: Reply(ext={"queueId": str(len(command.body or b""))})}) as port:
        link = await connect(port)
        answer = await link.ask(Command(310, 1, body=b"hello"))
        assert (answer.code, answer.field("queueId")) == (0, "5")
        await link.aclose()


@asynchronous
async def test_one_way_requests_are_received_and_not_answered() -> None:
    async with BrokerPort() as port:
        link = await connect(port)
        await link.send(Command(905, 1, FLAG_ONEWAY))
        assert (await link.ask(Command(34, 2))).opaque == 2
        assert link.received == 1
        assert [command.code for command in port.received] == [905, 34]
        await link.aclose()


@asynchronous
async def test_other_protocols_are_disconnected() -> None:
    async with BrokerPort() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        with contextlib.suppress(ConnectionResetError):
            await writer.wait_closed()
        assert not port.received


@asynchronous
async def test_close_aborts_all_connections() -> None:
    port = BrokerPort()
    await port.start()
    link = await connect(port)
    await link.ask(Command(34, 1))
    port.close()
    with pytest.raises(ConnectionFailed):
        await link.ask(Command(34, 2))
    await link.aclose()
