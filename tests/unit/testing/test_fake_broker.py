"""Fake brokers: registration, slaves, several NameServers."""

from routebook.testing import FakeBroker, LocalNameServer


def test_a_broker_is_registered_until_it_stops() -> None:
    with LocalNameServer() as nameserver:
        broker = FakeBroker("b1", nameservers=nameserver.address, topics={"orders": 6}, cluster="c9", broker_id=0)
        assert nameserver.brokers() == {"b1": {0: broker.address}}
        route = nameserver.route("orders")
        assert route is not None
        assert (route.broker_datas[0].cluster, route.queue_datas[0].read_queue_nums) == ("c9", 6)
        broker.stop()
        assert nameserver.brokers() == {}
        broker.stop()
        broker.crash()


def test_a_master_and_its_slave() -> None:
    with (
        LocalNameServer() as nameserver,
        FakeBroker("b1", nameservers=nameserver.address, topics=["orders"]) as master,
        FakeBroker("b1", nameservers=nameserver.address, topics=["orders"], broker_id=1) as slave,
    ):
        assert nameserver.brokers() == {"b1": {0: master.address, 1: slave.address}}


def test_several_nameservers_with_one_unreachable() -> None:
    with LocalNameServer() as one, LocalNameServer() as two:
        addresses = [one.address, two.address, "127.0.0.1:1"]
        with FakeBroker("b1", nameservers=addresses) as broker:
            assert one.brokers() == two.brokers() == {"b1": {0: broker.address}}
            broker.add_topic("orders")
            assert one.route("orders") is not None
            assert two.route("orders") is not None
            assert (broker.connections, broker.received) == (0, [])
