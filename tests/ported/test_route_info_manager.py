"""Ports of Java's RouteInfoManager tests (except the New one) and of BrokerHousekeepingServiceTest, by class."""

import pytest

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.effects import Change
from routebook.events import DownReason
from routebook.model import Registration
from routebook.routes import RouteTable
from tests.support.route_tables import (
    PLAIN,
    addrs,
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

BROKERS = ("broker-0", "broker-1", "broker-2")
TOPICS = tuple(f"topic-{number}" for number in range(10))


def member(broker: str, broker_id: int) -> Registration:
    addr = f"cluster-{broker}:{broker_id}"
    return registration(broker, addr=addr, broker_id=broker_id, cluster="cluster", topics=TOPICS, ha_addr=addr)


@pytest.fixture
def table() -> RouteTable:
    """Three groups of three, ten topics on each. Java: RouteInfoManagerTestBase.registerCluster."""
    table = RouteTable()
    for broker in BROKERS:
        for broker_id in range(3):
            register(table, member(broker, broker_id))
    return table


class TestRouteInfoManager:
    """Java: RouteInfoManagerTest."""

    @pytest.fixture
    def table(self) -> RouteTable:
        table = RouteTable()
        register(
            table,
            registration(
                "default-broker",
                broker_id=1234,
                cluster="default-cluster",
                topics=("unit-test0", "unit-test1"),
                data_version=version(10, timestamp=100),
                acting_master=False,
            ),
        )
        return table

    def test_get_all_cluster_info(self, table: RouteTable) -> None:
        assert table.cluster_info().cluster_addr_table == {"default-cluster": ["default-broker"]}

    def test_query_broker_topic_config(self, table: RouteTable) -> None:
        here, there = key(cluster="default-cluster"), key(cluster="default-cluster-1")
        assert table.data_version(here) == version(10, timestamp=100)
        other = registration(
            "default-broker-1",
            broker_id=1234,
            cluster="default-cluster-1",
            topics=("unit-test-0", "unit-test-1"),
            data_version=version(20, timestamp=200),
        )
        register(table, other)
        assert table.data_version(here) == version(10, timestamp=100)
        assert table.data_version(there) == version(20, timestamp=200)
        unregister(table, other)
        assert table.data_version(here) is not None
        assert table.data_version(there) is None

    def test_get_all_topic_list(self, table: RouteTable) -> None:
        assert table.topics() == ["unit-test0", "unit-test1"]

    def test_register_broker(self) -> None:
        what = registration("default-broker", broker_id=1234, topics=("unit-test0", "unit-test1"))
        assert result_of(RouteTable(), what) is not None

    def test_wipe_write_perm_of_broker_by_lock(self, table: RouteTable) -> None:
        table.register_topic("topic-a", [queue("default-broker", perm=PERM_READ | PERM_WRITE)])
        for topic in ("unit-test0", "unit-test1"):
            table.delete_topic(topic, cluster=None)
        count, _ = table.wipe_write("default-broker")
        assert count == 1
        assert perm(table, "topic-a", "default-broker") == PERM_READ

    def test_add_write_perm_of_broker_by_lock(self, table: RouteTable) -> None:
        table.register_topic("topic-a", [queue("default-broker", perm=PERM_READ)])
        for topic in ("unit-test0", "unit-test1"):
            table.delete_topic(topic, cluster=None)
        count, _ = table.restore_write("default-broker")
        assert count == 1
        assert perm(table, "topic-a", "default-broker") == PERM_READ | PERM_WRITE

    def test_pickup_topic_route_data(self, table: RouteTable) -> None:
        assert table.route("unit_test", PLAIN) is None

    def test_get_system_topic_list(self, table: RouteTable) -> None:
        assert table.system_topics().topic_list == ["default-cluster", "default-broker"]

    def test_get_topics_by_cluster(self, table: RouteTable) -> None:
        assert table.topics_of_cluster("default-cluster") == ["unit-test0", "unit-test1"]

    @pytest.mark.parametrize("flags", [{1, 3}, {2, 3}, {2}], ids=["unit", "has_unit_sub", "has_unit_sub_un_unit"])
    def test_get_unit_topics(self, table: RouteTable, flags: set[int]) -> None:
        assert table.unit_topics(flags.__contains__) == []
        for flag in range(4):
            table.register_topic(f"flag-{flag}", [queue("default-broker", flag=flag)])
        assert set(table.unit_topics(flags.__contains__)) == {f"flag-{flag}" for flag in flags}


class TestRouteInfoManagerBrokerPerm:
    """Java: RouteInfoManagerBrokerPermTest."""

    def test_add_write_perm_of_broker_by_lock(self, table: RouteTable) -> None:
        table.wipe_write("broker-0")
        count, _ = table.restore_write("broker-0")
        assert count == len(TOPICS)
        assert perm(table, "topic-0", "broker-0") == PERM_READ | PERM_WRITE

    def test_wipe_write_perm_of_broker_by_lock(self, table: RouteTable) -> None:
        table.wipe_write("broker-0")
        count, change = table.wipe_write("broker-0")
        assert count == len(TOPICS)
        assert change == Change()
        assert perm(table, "topic-0", "broker-0") == PERM_READ
        assert perm(table, "topic-0", "broker-1") == PERM_READ | PERM_WRITE


class TestRouteInfoManagerBrokerRegister:
    """Java: RouteInfoManagerBrokerRegisterTest."""

    def test_master_change_from_slave(self, table: RouteTable) -> None:
        slave = member("broker-0", 1)
        assert addrs(table, "topic-0", "broker-0")[0] == member("broker-0", 0).addr
        register(table, registration("broker-0", addr=slave.addr, broker_id=0, cluster="cluster", topics=TOPICS))
        assert addrs(table, "topic-0", "broker-0") == {0: slave.addr, 2: member("broker-0", 2).addr}

    def test_unregister_broker(self, table: RouteTable) -> None:
        unregister(table, member("broker-0", 2))
        assert 2 not in addrs(table, "topic-0", "broker-0")


class TestRouteInfoManagerStaticRegister:
    """Java: RouteInfoManagerStaticRegisterTest."""

    def test_get_all_cluster_info(self, table: RouteTable) -> None:
        assert table.cluster_info().cluster_addr_table == {"cluster": list(BROKERS)}

    def test_get_all_topic_list(self, table: RouteTable) -> None:
        assert set(table.topics()) == set(TOPICS)

    def test_get_topics_by_cluster(self, table: RouteTable) -> None:
        assert set(table.topics_of_cluster("cluster")) == set(TOPICS)

    def test_pickup_topic_route_data(self, table: RouteTable) -> None:
        found = route(table, "topic-0")
        assert {data.broker_name: data.broker_addrs for data in found.broker_datas} == {
            broker: {broker_id: member(broker, broker_id).addr for broker_id in range(3)} for broker in BROKERS
        }
        assert found.queue_datas == [queue(broker) for broker in BROKERS]

    def test_delete_topic(self, table: RouteTable) -> None:
        table.delete_topic("topic-0", cluster=None)
        assert table.route("topic-0", PLAIN) is None

    def test_get_system_topic_list(self, table: RouteTable) -> None:
        system = table.system_topics()
        assert set(system.topic_list) == {"cluster", *BROKERS}
        assert system.broker_addr == member("broker-0", 0).addr

    @pytest.mark.parametrize("flags", [{1, 3}, {2, 3}, {2}], ids=["unit", "has_unit_sub", "has_unit_sub_un_unit"])
    def test_get_unit_topics(self, table: RouteTable, flags: set[int]) -> None:
        assert table.unit_topics(flags.__contains__) == []
        assert set(table.unit_topics({0}.__contains__)) == set(TOPICS)


class TestBrokerHousekeepingService:
    """Java: BrokerHousekeepingServiceTest. An event of a connection that registered nobody does nothing."""

    @pytest.mark.parametrize("reason", [DownReason.CLOSED, DownReason.IDLE], ids=["close_or_exception", "idle"])
    def test_on_channel(self, table: RouteTable, reason: DownReason) -> None:
        assert table.connection_lost(77, reason=reason, policy=PLAIN) == Change()
        assert table.sizes().brokers == 9
