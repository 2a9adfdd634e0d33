"""Tests of code that talks to RocketMQ, without a JVM: `pytest examples/test_orders.py`.

The fixtures `nameserver`, `make_nameserver` and `fake_broker` come with `pip install routebook`.
"""

import asyncio

from routebook.client import NameServerClient, publish_queues
from routebook.errors import TopicNotExist
from routebook.testing import FakeBroker, LocalNameServer
from routebook.wire.command import Command, Reply

SEND_MESSAGE_V2 = 310


# The code under test: where may orders be written to?
async def brokers_for(topic: str, nameservers: str) -> set[str]:
    async with NameServerClient(nameservers) as client:
        try:
            route = await client.route(topic)
        except TopicNotExist:
            return set()
    return {queue.broker for queue in publish_queues(topic, route).queues}


def test_nobody_has_the_topic_yet(nameserver: LocalNameServer) -> None:
    assert asyncio.run(brokers_for("orders", nameserver.address)) == set()


def test_a_topic_on_two_brokers(nameserver: LocalNameServer, fake_broker) -> None:
    fake_broker("broker-a", topics={"orders": 8})
    fake_broker("broker-b", topics=["orders", "invoices"])
    assert asyncio.run(brokers_for("orders", nameserver.address)) == {"broker-a", "broker-b"}


def test_a_broker_dies(nameserver: LocalNameServer, fake_broker) -> None:
    broker = fake_broker("broker-a", topics=["orders"])
    broker.crash()
    nameserver.wait_for_route("orders", gone=True)
    assert asyncio.run(brokers_for("orders", nameserver.address)) == set()


def test_a_topic_comes_later(nameserver: LocalNameServer, fake_broker) -> None:
    broker: FakeBroker = fake_broker("broker-a")
    assert nameserver.route("orders") is None
    broker.add_topic("orders", queues=16)
    route = nameserver.route("orders")
    assert route is not None
    assert route.queue_datas[0].write_queue_nums == 16


def test_one_of_two_nameservers_is_gone(make_nameserver, fake_broker) -> None:
    first, second = make_nameserver(), make_nameserver()
    both = f"{first.address};{second.address}"
    fake_broker("broker-a", nameservers=both, topics=["orders"])
    first.stop()
    assert asyncio.run(brokers_for("orders", both)) == {"broker-a"}


def test_what_a_client_says_to_a_broker(fake_broker) -> None:
    """A fake broker keeps no messages, but a test can answer for it, and look at what came."""

    def stored(command: Command) -> Reply:
        return Reply(ext={"msgId": "1", "queueId": "0", "queueOffset": "0"})

    broker = fake_broker("broker-a", topics=["orders"], answers={SEND_MESSAGE_V2: stored})

    async def send() -> int:
        async with NameServerClient(broker.address) as connection:  # it speaks the protocol, whoever listens
            return (await connection.call(Command(SEND_MESSAGE_V2, 0, body=b"one order"))).code

    assert asyncio.run(send()) == 0
    assert [command.body for command in broker.received] == [b"one order"]


def test_settings_and_a_journal(make_nameserver, fake_broker) -> None:
    """Settings are Java's and Routebook's, by their keys; with a journal, routes survive a restart."""
    nameserver = make_nameserver(settings={"supportActingMaster": "true"}, journal=True)
    fake_broker("broker-a", nameservers=nameserver.address, topics=["orders"])
    nameserver.restart()
    assert nameserver.route("orders") is not None
