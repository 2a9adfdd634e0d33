"""Notices to brokers about the lowest id of their group, over real sockets."""

import asyncio
from itertools import count

from routebook.effects import NotifyMinBroker
from routebook.server.net.outbound.min_broker_notices import MinBrokerNotices
from routebook.wire.command import Command, SerializeType
from routebook.wire.peer import Peer
from tests.support.asynchronous import asynchronous


class Broker:
    """Accepts connections and decodes what arrives."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[Command] = asyncio.Queue()
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        peer = Peer()
        while data := await reader.read(1 << 16):
            peer.feed(data)
            while (command := peer.next_command()) is not None:
                self.received.put_nowait(command)
        writer.close()


def notice_to(*addresses: str) -> NotifyMinBroker:
    return NotifyMinBroker(recipients=addresses, min_broker_id=3, min_broker_addr="10.0.0.3:10911")


@asynchronous
async def test_notices_share_one_connection_per_broker() -> None:
    broker, failures = Broker(), list[tuple[str, str]]()
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    notices = MinBrokerNotices(
        opaques=count(5), serialize_type=SerializeType.JSON, on_failure=lambda *failure: failures.append(failure)
    )
    notices.send(notice_to(address))
    notices.send(notice_to(address))
    first, second = await broker.received.get(), await broker.received.get()
    assert (first.code, first.opaque, second.opaque, first.is_oneway) == (905, 5, 6, True)
    assert first.ext == {"minBrokerAddr": "10.0.0.3:10911", "minBrokerId": "3"}
    assert broker.connections == 1
    await notices.aclose()
    server.close()
    await server.wait_closed()
    assert failures == []


@asynchronous
async def test_failures_are_reported_and_the_next_notice_tries_again() -> None:
    failures: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    notices = MinBrokerNotices(
        opaques=count(), serialize_type=SerializeType.JSON, on_failure=lambda *failure: failures.put_nowait(failure)
    )
    for address in ("127.0.0.1:1", "no address:x", "127.0.0.1:1"):
        notices.send(notice_to(address))
        failed, why = await failures.get()
        assert failed == address
        assert why
    await notices.aclose()


@asynchronous
async def test_this_nameserver_never_connects_to_itself() -> None:
    notices = MinBrokerNotices(opaques=count(), serialize_type=SerializeType.JSON, on_failure=lambda *_: fail())
    notices.own_addresses = {"127.0.0.1:9876"}
    notices.send(notice_to("127.0.0.1:9876"))
    assert notices._sender._recipients == {}
    await notices.aclose()


def fail() -> None:
    raise AssertionError("a connection was opened")
