"""Tests of code that talks to RocketMQ, without a JVM: `pytest examples/test_orders.py`.

The fixtures `nameserver`, `make_nameserver` and `fake_broker` come with `pip install routebook`.
"""

import asyncio

from routebook.client import NameServerClient, publish_queues
from routebook.errors import TopicNotExist
from routebook.testing import FakeBroker, LocalNameServer
from routebook.wire.command import Command, Reply

SEND_MESSAGE_V2 = 310


# The code under test: the brokers that accept orders.
async def brokers_for(topic: str, nameservers: str) -> set[str]:
    async with NameServerClient(nameservers) as client:
        try:
            route = await client.route(topic)
        except TopicNotExist:
            return set()
    return {queue.broker for queue in publish_queues(topic, route).queues}


def test_a_topic_without_a_route(nameserver: LocalNameServer) -> None:
    assert asyncio.run(brokers_for("orders", nameserver.address)) == set()


def test_a_topic_on_two_brokers(nameserver: LocalNameServer, fake_broker) -> None:
    fake_broker("broker-a", topics={"orders": 8})
    fake_broker("broker-b", topics=["orders", "invoices"])
    assert asyncio.run(brokers_for("orders", nameserver.address)) == {"broker-a", "broker-b"}


def test_a_broker_crashes(nameserver: LocalNameServer, fake_broker) -> None:
    broker = fake_broker("broker-a", topics=["orders"])
    broker.crash()
    nameserver.wait_for_route("orders", gone=True)
    assert asyncio.run(brokers_for("orders", nameserver.address)) == set()


def test_a_topic_is_added_later(nameserver: LocalNameServer, fake_broker) -> None:
    broker: FakeBroker = fake_broker("broker-a")
    assert nameserver.route("orders") is None
    broker.add_topic("orders", queues=16)
    route = nameserver.route("orders")
    assert route is not None
    assert route.queue_datas[0].write_queue_nums == 16


def test_failover_to_the_second_nameserver(make_nameserver, fake_broker) -> None:
    first, second = make_nameserver(), make_nameserver()
    both = f"{first.address};{second.address}"
    fake_broker("broker-a", nameservers=both, topics=["orders"])
    first.stop()
    assert asyncio.run(brokers_for("orders", both)) == {"broker-a"}


def test_requests_from_a_client_to_a_broker(fake_broker) -> None:
    """A fake broker stores no messages; a test can provide answers and inspect the requests."""

    def stored(command: Command) -> Reply:
        return Reply(ext={"msgId": "1", "queueId": "0", "queueOffset": "0"})

    broker = fake_broker("broker-a", topics=["orders"], answers={SEND_MESSAGE_V2: stored})

    async def send() -> int:
        async with NameServerClient(broker.address) as connection:  # brokers use the same protocol
            return (await connection.call(Command(SEND_MESSAGE_V2, 0, body=b"one order"))).code

    assert asyncio.run(send()) == 0
    assert [command.body for command in broker.received] == [b"one order"]


def test_settings_and_a_journal(make_nameserver, fake_broker) -> None:
    """Settings have Java and Routebook keys; with a journal, routes survive a restart."""
    nameserver = make_nameserver(settings={"supportActingMaster": "true"}, journal=True)
    fake_broker("broker-a", nameservers=nameserver.address, topics=["orders"])
    nameserver.restart()
    assert nameserver.route("orders") is not None
