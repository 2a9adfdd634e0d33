"""Ports of Java's RouteInfoManagerNewTest, with the same test names."""

import pytest

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.events import DownReason
from routebook.model import RegisterResult, Registration
from routebook.routes import RouteTable
from tests.support.route_tables import (
    ACTING,
    MASTER,
    PLAIN,
    PURGING,
    SLAVE,
    addrs,
    config,
    key,
    perm,
    queue,
    register,
    registration,
    result_of,
    route,
    unregister,
    version,
)

TOPIC = "TestTopic"


def master(*topics: str, broker: str = "broker-a", acting: bool = True, counter: int = 1) -> Registration:
    return registration(
        broker, topics=("baseTopic", *topics), acting_master=acting, data_version=version(counter), zone=""
    )


def slave(*topics: str, broker: str = "broker-a", acting: bool = True, counter: int = 1) -> Registration:
    return registration(
        broker,
        addr=SLAVE,
        broker_id=1,
        topics=("baseTopic", *topics),
        acting_master=acting,
        data_version=version(counter),
        zone="",
    )


@pytest.fixture
def table() -> RouteTable:
    return RouteTable()


def test_get_all_cluster_info(table: RouteTable) -> None:
    register(table, master(TOPIC))
    register(table, registration("AnotherBroker", addr="127.0.0.1:30911", cluster="AnotherCluster"))
    info = table.cluster_info()
    assert info.cluster_addr_table == {"DefaultCluster": ["broker-a"], "AnotherCluster": ["AnotherBroker"]}
    assert info.broker_addr_table["broker-a"].broker_addrs == {0: MASTER}
    assert info.broker_addr_table["AnotherBroker"].broker_addrs == {0: "127.0.0.1:30911"}


def test_delete_topic(table: RouteTable) -> None:
    register(table, master(TOPIC))
    table.delete_topic(TOPIC, cluster=None)
    assert table.route(TOPIC, PLAIN) is None
    register(table, master(TOPIC))
    register(table, registration("AnotherBroker", cluster="AnotherCluster", topics=("baseTopic", TOPIC)))
    assert len(route(table, TOPIC).broker_datas) == 2
    table.delete_topic(TOPIC, cluster="DefaultCluster")
    assert [data.broker_name for data in route(table, TOPIC).broker_datas] == ["AnotherBroker"]


def test_get_all_topic_list(table: RouteTable) -> None:
    assert table.topics() == []
    register(table, master("TestTopic", "TestTopic1", "TestTopic2"))
    assert set(table.topics()) == {"baseTopic", "TestTopic", "TestTopic1", "TestTopic2"}


def test_register_broker(table: RouteTable) -> None:
    assert result_of(table, master(TOPIC)) == RegisterResult()
    assert result_of(table, slave(TOPIC)) == RegisterResult(ha_addr="10.0.0.1:10912", master_addr=MASTER)


def test_unregister_broker(table: RouteTable) -> None:
    what = master("TestTopic", "TestTopic1", "TestTopic2")
    register(table, what, connection=1)
    unregister(table, what, connection=1)
    assert table.topics() == []
    register(table, what, connection=1)
    unregister(table, what, connection=99)
    assert table.topics() == []


def test_register_slave_broker(table: RouteTable) -> None:
    register(table, master(TOPIC))
    assert addrs(table, TOPIC) == {0: MASTER}
    register(table, slave(TOPIC))
    assert addrs(table, TOPIC) == {0: MASTER, 1: SLAVE}


def test_create_new_topic(table: RouteTable) -> None:
    register(table, master(TOPIC))
    register(table, slave(TOPIC))
    register(table, master(TOPIC, "TestTopic1"))
    assert addrs(table, "TestTopic1") == {0: MASTER, 1: SLAVE}


@pytest.mark.parametrize("leave", ["unregister", "connection_lost"])
def test_switch_broker_role(table: RouteTable, leave: str) -> None:
    """Java: switchBrokerRole and switchBrokerRole_ChannelDestroy."""
    old, new = master(TOPIC, acting=False), slave(TOPIC, acting=False)
    register(table, old, connection=1)
    register(table, new, connection=2)
    if leave == "unregister":
        unregister(table, old)
    else:
        table.connection_lost(1, reason=DownReason.CLOSED, policy=PLAIN)
    assert addrs(table, TOPIC) == {1: SLAVE}
    register(table, registration(addr=SLAVE, broker_id=0, topics=("baseTopic", TOPIC), data_version=version(2)))
    assert addrs(table, TOPIC) == {0: SLAVE}
    register(table, registration(addr=MASTER, broker_id=1, topics=("baseTopic", TOPIC), data_version=version(2)))
    assert addrs(table, TOPIC) == {0: SLAVE, 1: MASTER}


def test_unregister_slave_broker(table: RouteTable) -> None:
    register(table, master(TOPIC))
    for connection in (2, 99):
        register(table, slave(TOPIC), connection=2)
        unregister(table, slave(TOPIC), connection=connection)
        assert addrs(table, TOPIC) == {0: MASTER}


def test_unregister_master_broker(table: RouteTable) -> None:
    register(table, master(TOPIC))
    register(table, slave(TOPIC))
    unregister(table, master(TOPIC))
    assert addrs(table, TOPIC, policy=ACTING) == {0: SLAVE}
    assert [q.perm for q in route(table, TOPIC, ACTING).queue_datas] == [PERM_READ]


def test_unregister_master_broker_old_version(table: RouteTable) -> None:
    register(table, master(TOPIC, acting=False))
    register(table, slave(TOPIC, acting=False))
    unregister(table, master(TOPIC))
    assert addrs(table, TOPIC, policy=ACTING) == {1: SLAVE}
    assert [q.perm for q in route(table, TOPIC, ACTING).queue_datas] == [PERM_READ | PERM_WRITE]


def test_submit_multi_unregister_requests(table: RouteTable) -> None:
    one, two = master("TestTopic1"), registration("broker-b", addr=SLAVE, topics=("baseTopic", "TestTopic2"))
    register(table, one)
    register(table, two)
    unregister(table, one)
    unregister(table, two)
    assert table.route("TestTopic1", PLAIN) is None
    assert table.route("TestTopic2", PLAIN) is None


def test_is_broker_topic_config_changed(table: RouteTable) -> None:
    register(table, master(TOPIC))
    assert not table.is_changed(key(), version(1, timestamp=1000))
    assert table.is_changed(key(), version(1, timestamp=2000))
    assert table.is_changed(key(), version(2, timestamp=1000))


def test_is_topic_config_changed(table: RouteTable) -> None:
    """Under a known version only what is missing is taken."""
    register(table, master(TOPIC))
    register(table, registration(topics=(config(TOPIC, read=16), config("TestTopic1", read=16))))
    assert route(table, TOPIC).queue_datas[0].read_queue_nums == 8
    assert route(table, "TestTopic1").queue_datas[0].read_queue_nums == 16


def test_query_broker_topic_config(table: RouteTable) -> None:
    register(table, master(TOPIC, counter=7))
    assert table.data_version(key()) == version(7)


def test_wipe_write_perm_of_broker_by_lock(table: RouteTable) -> None:
    register(table, master(TOPIC))
    assert perm(table, TOPIC) == 6
    table.wipe_write("broker-a")
    assert perm(table, TOPIC) == 4


def test_pickup_topic_route_data(table: RouteTable) -> None:
    register(table, master(TOPIC))
    found = route(table, TOPIC)
    assert [(data.broker_name, data.broker_addrs) for data in found.broker_datas] == [("broker-a", {0: MASTER})]
    assert found.queue_datas == [queue("broker-a")]
    register(table, master(TOPIC, broker="AnotherBroker"))  # from the same address, as in the Java test
    found = route(table, TOPIC)
    assert {data.broker_name for data in found.broker_datas} == {"broker-a", "AnotherBroker"}
    assert {q.broker_name for q in found.queue_datas} == {"broker-a", "AnotherBroker"}


def test_pickup_topic_route_data_with_slave(table: RouteTable) -> None:
    register(table, master(TOPIC))
    register(table, slave(TOPIC))
    assert len(addrs(table, TOPIC, policy=ACTING)) == 2
    assert perm(table, TOPIC) & PERM_WRITE
    unregister(table, master(TOPIC))
    assert len(addrs(table, TOPIC, policy=ACTING)) == 1
    assert not perm(table, TOPIC) & PERM_WRITE
    register(table, master(TOPIC))
    assert len(addrs(table, TOPIC, policy=ACTING)) == 2
    assert perm(table, TOPIC) & PERM_WRITE


def test_scan_not_active_broker(table: RouteTable) -> None:
    """Java's test sleeps for 30 s and asserts nothing."""
    register(table, master(TOPIC), now_ms=0)
    table.expire(0, policy=PLAIN)
    register(table, registration(topics=("baseTopic", TOPIC), timeout_ms=30_000), now_ms=0)
    table.expire(30_000, policy=PLAIN)
    assert table.has_lease(key())
    table.expire(30_001, policy=PLAIN)
    assert not table.has_lease(key())
    assert table.topics() == []


@pytest.mark.parametrize("broker_datas", [1, 2], ids=["global", "partition"])
def test_pickup_order_topic_route_data(table: RouteTable, broker_datas: int) -> None:
    """Java: pickupPartitionOrderTopicRouteData and pickupGlobalOrderTopicRouteData."""
    register(table, slave(TOPIC))
    assert addrs(table, TOPIC, policy=ACTING) == {0: SLAVE}
    assert not perm(table, TOPIC) & PERM_WRITE
    unregister(table, slave(TOPIC))

    register(table, slave(TOPIC))
    register(table, master(TOPIC))
    unregister(table, master(TOPIC))
    assert addrs(table, TOPIC, policy=ACTING) == {0: SLAVE}
    assert not perm(table, TOPIC) & PERM_WRITE
    if broker_datas == 1:
        return
    unregister(table, slave(TOPIC))

    for what in (slave(TOPIC), master(TOPIC), master(TOPIC, broker="other"), slave(TOPIC, broker="other")):
        register(table, what)
    assert len(route(table, TOPIC, ACTING).broker_datas) == len(route(table, TOPIC, ACTING).queue_datas) == 2
    unregister(table, master(TOPIC))
    assert addrs(table, TOPIC, policy=ACTING) == {0: SLAVE}
    assert addrs(table, TOPIC, "other", policy=ACTING) == {0: MASTER, 1: SLAVE}


def test_register_only_slave_broker(table: RouteTable) -> None:
    register(table, slave(TOPIC))
    assert perm(table, TOPIC) == PERM_READ
    unregister(table, slave(TOPIC))

    register(table, master(TOPIC))
    register(table, slave(TOPIC))
    assert perm(table, TOPIC) == PERM_READ | PERM_WRITE
    unregister(table, master(TOPIC))
    assert perm(table, TOPIC) == PERM_READ
    register(table, master(TOPIC))
    assert perm(table, TOPIC) == PERM_READ | PERM_WRITE


def test_on_channel_destroy(table: RouteTable) -> None:
    register(table, master("TestTopic", "TestTopic1"), connection=1)
    table.connection_lost(1, reason=DownReason.CLOSED, policy=PLAIN)
    assert table.topics() == []

    register(table, master(TOPIC, acting=False), connection=2)
    register(table, slave(TOPIC, acting=False), connection=3)
    assert addrs(table, TOPIC) == {0: MASTER, 1: SLAVE}
    table.connection_lost(2, reason=DownReason.CLOSED, policy=PLAIN)
    assert addrs(table, TOPIC) == {1: SLAVE}
    table.connection_lost(3, reason=DownReason.CLOSED, policy=PLAIN)
    assert table.route(TOPIC, PLAIN) is None


def test_on_channel_destroy_by_broker_info(table: RouteTable) -> None:
    """What the scan does in Java once a lease is over."""
    register(table, master("TestTopic", "TestTopic1"), now_ms=0)
    table.expire(120_001, policy=PLAIN)
    assert table.topics() == []


def test_keep_topic_with_broker_registration(table: RouteTable) -> None:
    register(table, master("TestTopic", "TestTopic1"))
    register(table, master("TestTopic1"))
    assert set(table.topics()) == {"baseTopic", "TestTopic", "TestTopic1"}


def test_delete_topic_with_broker_registration(table: RouteTable) -> None:
    register(table, master("TestTopic", "TestTopic1"), policy=PURGING)
    register(table, master("TestTopic1"), policy=PURGING)
    assert set(table.topics()) == {"baseTopic", "TestTopic1"}


def test_delete_topic_with_broker_registration2(table: RouteTable) -> None:
    def second(*topics: str) -> Registration:
        return registration("broker-b", addr=SLAVE, topics=("baseTopic", *topics))

    register(table, master("TestTopic", "TestTopic1"), policy=PURGING)
    register(table, second("TestTopic", "TestTopic1"), policy=PURGING)
    register(table, master("TestTopic1"), policy=PURGING)
    assert [data.broker_name for data in route(table, "TestTopic").broker_datas] == ["broker-b"]
    assert len(route(table, "TestTopic1").broker_datas) == 2
    register(table, second("TestTopic1"), policy=PURGING)
    assert table.route("TestTopic", PLAIN) is None
    assert len(route(table, "TestTopic1").broker_datas) == 2


def test_register_single_topic_with_broker_registration(table: RouteTable) -> None:
    table.register_topic("TestTopic", [queue("broker-a")])
    assert table.route("TestTopic", PLAIN) is None
    register(table, master("TestTopic"), policy=PURGING)
    table.register_topic("TestTopic1", [queue("broker-a")])
    assert set(table.topics()) == {"baseTopic", "TestTopic", "TestTopic1"}
    register(table, master("TestTopic", "TestTopic1"), policy=PURGING)
    assert set(table.topics()) == {"baseTopic", "TestTopic", "TestTopic1"}
    register(table, master("TestTopic"), policy=PURGING)
    assert set(table.topics()) == {"baseTopic", "TestTopic"}
    table.register_topic("TestTopic1", [queue("broker-a")])
    unregister(table, master("TestTopic"))
    assert table.topics() == []
