"""104, lost connections and expiry: what is removed, what stays, and who is notified."""

import pytest

from routebook.codes import PERM_READ, PERM_WRITE
from routebook.effects import Change, CloseConnection, NotifyMinBroker
from routebook.events import BrokerDown, DownReason, MappingsChanged, QueueChange, TopicCause, TopicsChanged
from routebook.model import Registration
from routebook.routes import RouteTable
from tests.support.route_tables import (
    ACTING,
    MASTER,
    OTHER,
    PLAIN,
    SLAVE,
    addrs,
    dump,
    key,
    mapping,
    perm,
    queue,
    queues,
    register,
    registration,
    route,
    unregister,
    version,
)


@pytest.fixture
def table() -> RouteTable:
    return RouteTable()


def lose(table: RouteTable, connection: int) -> Change:
    return table.connection_lost(connection, reason=DownReason.CLOSED, policy=ACTING)


def reasons(change: Change) -> list[DownReason]:
    return [event.reason for event in change.events if isinstance(event, BrokerDown)]


class TestUnregister:
    @pytest.mark.parametrize(("connection", "reason"), [(1, DownReason.UNREGISTERED), (99, DownReason.DEREGISTERED)])
    def test_a_broker_or_an_operator_may_send_it_away(
        self, table: RouteTable, connection: int, reason: DownReason
    ) -> None:
        register(table, registration(topics=("A", "B")), connection=1)
        change = unregister(table, registration(), connection=connection)
        assert change.events == (
            BrokerDown(cluster="DefaultCluster", broker="broker-a", broker_id=0, addr=MASTER, reason=reason),
            TopicsChanged(broker="broker-a", cause=TopicCause.REMOVAL, removed=("A", "B")),
        )
        assert dump(table) == dump(RouteTable())

    def test_a_late_104_does_not_remove_a_newer_registration(self, table: RouteTable) -> None:
        register(table, registration(), connection=1)
        register(table, registration(), connection=2)
        assert unregister(table, registration(), connection=1) == Change()
        assert table.has_lease(key())
        assert reasons(unregister(table, registration(), connection=2)) == [DownReason.UNREGISTERED]

    def test_nor_after_the_old_lease_ended(self, table: RouteTable) -> None:
        register(table, registration(), connection=1)
        table.expire(10**9, policy=PLAIN)
        register(table, registration(), connection=2)
        assert unregister(table, registration(), connection=1) == Change()
        assert table.has_lease(key())

    def test_a_connection_that_took_over_again_is_the_brokers_own(self, table: RouteTable) -> None:
        for connection in (1, 2, 1):
            register(table, registration(), connection=connection)
        assert unregister(table, registration(), connection=2) == Change()
        assert reasons(unregister(table, registration(), connection=1)) == [DownReason.UNREGISTERED]

    @pytest.mark.parametrize(
        "what",
        [registration(addr=OTHER), registration("broker-b"), registration(cluster="elsewhere")],
        ids=["address", "name", "cluster"],
    )
    def test_a_104_that_matches_no_member_changes_nothing(self, table: RouteTable, what: Registration) -> None:
        register(table, registration())
        before = dump(table)
        assert unregister(table, what) == Change()
        assert dump(table) == before

    def test_the_address_counts_not_the_id(self, table: RouteTable) -> None:
        register(table, registration())
        register(table, registration(addr=SLAVE, broker_id=1))
        unregister(table, registration(addr=SLAVE), broker_id=7)
        assert table.member_group("broker-a") == {0: MASTER}

    def test_other_groups_and_their_queues_stay(self, table: RouteTable) -> None:
        register(table, registration(topics=("A", "B")))
        register(table, registration("broker-b", addr=OTHER, topics=("B", "C")))
        unregister(table, registration())
        assert set(table.topics()) == {"B", "C"}
        assert route(table, "B").queue_datas == [queue("broker-b")]
        assert table.cluster_info().cluster_addr_table == {"DefaultCluster": ["broker-b"]}

    def test_mappings_are_removed_with_the_group(self, table: RouteTable) -> None:
        register(table, registration(mappings=[mapping("base", "broker-a")]))
        register(table, registration("broker-b", addr=OTHER, mappings=[mapping("base", "broker-b")]))
        change = unregister(table, registration())
        assert change.events[-1] == MappingsChanged(broker="broker-a", removed=("base",))
        assert table.mapping_table == {"base": {"broker-b": mapping("base", "broker-b")}}

    def test_mappings_under_a_name_without_a_group_are_removed(self, table: RouteTable) -> None:
        register(table, registration(mappings=[mapping("base", "ghost")]))
        unregister(table, registration())
        assert table.mapping_table == {}

    def test_filter_servers_are_removed_with_the_lease(self, table: RouteTable) -> None:
        slave = registration(addr=SLAVE, broker_id=1, filter_servers=("f:1",))
        register(table, registration())
        register(table, slave)
        assert route(table, "base").filter_server_table == {SLAVE: ["f:1"]}
        unregister(table, slave)
        assert route(table, "base").filter_server_table == {}


class TestConnectionLost:
    def test_all_brokers_of_a_connection_are_removed(self, table: RouteTable) -> None:
        for number in range(3):
            register(table, registration(f"broker-{number}", addr=f"10.0.1.{number}:1"), connection=1)
        register(table, registration("stays", addr=OTHER), connection=2)
        change = table.connection_lost(1, reason=DownReason.IDLE, policy=PLAIN)
        assert reasons(change) == [DownReason.IDLE] * 3
        assert list(table.group_table) == ["stays"]

    def test_a_broker_that_registered_over_another_connection_stays(self, table: RouteTable) -> None:
        register(table, registration(), connection=1)
        register(table, registration(), connection=2)
        assert lose(table, 1) == Change()
        assert table.has_lease(key())
        assert reasons(lose(table, 2)) == [DownReason.CLOSED]

    def test_a_lost_connection_is_forgotten(self, table: RouteTable) -> None:
        register(table, registration(), connection=1)
        lose(table, 1)
        assert table.registered_over == {}
        assert lose(table, 1) == Change()

    def test_a_replaced_broker_is_removed_once(self, table: RouteTable) -> None:
        register(table, registration(), connection=1)
        register(table, registration(addr=OTHER), connection=2)
        assert lose(table, 1) == Change()
        assert table.member_group("broker-a") == {0: OTHER}

    def test_a_complete_group_is_removed_without_notices(self, table: RouteTable) -> None:
        register(table, registration(acting_master=True), connection=1)
        register(table, registration(addr=SLAVE, broker_id=1, acting_master=True), connection=1)
        change = lose(table, 1)
        assert change.effects == ()
        assert [type(event) for event in change.events] == [BrokerDown, BrokerDown, TopicsChanged]
        assert dump(table) == dump(RouteTable())


class TestExpiry:
    def test_a_lease_expires_one_ms_after_its_timeout(self, table: RouteTable) -> None:
        register(table, registration(timeout_ms=1000), now_ms=500)
        assert table.expire(1500, policy=PLAIN) == Change()
        change = table.expire(1501, policy=PLAIN)
        assert reasons(change) == [DownReason.EXPIRED]
        assert change.effects == (CloseConnection(1, DownReason.EXPIRED),)

    def test_a_heartbeat_counts(self, table: RouteTable) -> None:
        register(table, registration(timeout_ms=1000), now_ms=0)
        assert table.heartbeat(key(), 1000)
        assert table.expire(2000, policy=PLAIN) == Change()
        assert reasons(table.expire(2001, policy=PLAIN)) == [DownReason.EXPIRED]

    def test_a_connection_with_a_live_broker_stays_open(self, table: RouteTable) -> None:
        register(table, registration(timeout_ms=10), connection=1)
        register(table, registration("broker-b", addr=OTHER), connection=1)
        register(table, registration("broker-c", addr=SLAVE, timeout_ms=10), connection=2)
        change = table.expire(1000, policy=PLAIN)
        assert reasons(change) == [DownReason.EXPIRED] * 2
        assert change.effects == (CloseConnection(2, DownReason.EXPIRED),)

    def test_a_connection_is_closed_once(self, table: RouteTable) -> None:
        register(table, registration(timeout_ms=10), connection=1)
        register(table, registration("broker-b", addr=OTHER, timeout_ms=10), connection=1)
        assert table.expire(1000, policy=PLAIN).effects == (CloseConnection(1, DownReason.EXPIRED),)

    def test_a_zero_timeout_expires_at_once(self, table: RouteTable) -> None:
        register(table, registration(timeout_ms=0), now_ms=5)
        assert table.expire(5, policy=PLAIN) == Change()
        assert reasons(table.expire(6, policy=PLAIN)) == [DownReason.EXPIRED]


class TestActingMaster:
    def group(self, table: RouteTable, *, acting: bool = True) -> None:
        register(table, registration(acting_master=acting), connection=1)
        register(table, registration(addr=SLAVE, broker_id=1, acting_master=acting), connection=2)
        register(table, registration(addr=OTHER, broker_id=2, acting_master=acting), connection=3)

    def test_a_group_without_a_master_is_read_only_and_notified(self, table: RouteTable) -> None:
        self.group(table)
        change = lose(table, 1)
        writable, readable = queues(), queues(perm=PERM_READ)
        assert change.events[1:] == (
            TopicsChanged(
                broker="broker-a",
                cause=TopicCause.ACTING_MASTER,
                changed={"base": QueueChange(writable, readable), "TopicTest": QueueChange(writable, readable)},
            ),
        )
        assert change.effects == (
            NotifyMinBroker(recipients=(SLAVE, OTHER), min_broker_id=1, min_broker_addr=SLAVE, offline_addr=MASTER),
        )
        assert addrs(table, "TopicTest", policy=ACTING) == {0: SLAVE, 2: OTHER}
        assert addrs(table, "TopicTest", policy=PLAIN) == {1: SLAVE, 2: OTHER}

    def test_without_acting_masters_only_the_address_is_removed(self, table: RouteTable) -> None:
        self.group(table, acting=False)
        change = lose(table, 1)
        assert [type(event) for event in change.events] == [BrokerDown]
        assert change.effects == ()
        assert perm(table, "TopicTest") == PERM_READ | PERM_WRITE
        assert addrs(table, "TopicTest", policy=ACTING) == {1: SLAVE, 2: OTHER}

    def test_a_slave_with_a_higher_id_leaves_without_a_notice(self, table: RouteTable) -> None:
        self.group(table)
        change = lose(table, 3)
        assert [type(event) for event in change.events] == [BrokerDown]
        assert change.effects == ()

    def test_the_id_in_the_request_decides_whether_the_lowest_id_left(self, table: RouteTable) -> None:
        self.group(table)
        change = unregister(table, registration(), broker_id=7, policy=ACTING)
        assert change.effects == ()
        assert perm(table, "TopicTest") == PERM_READ

    def test_no_notice_where_the_setting_is_off(self, table: RouteTable) -> None:
        self.group(table)
        assert unregister(table, registration(), policy=PLAIN).effects == ()
        assert perm(table, "TopicTest") == PERM_READ

    def test_the_life_of_a_group_with_an_acting_master(self, table: RouteTable) -> None:
        """Slaves 2 and 1 come, then the master; the master dies, then slave 1."""

        def come(addr: str, broker_id: int, connection: int) -> Change:
            what = registration(addr=addr, broker_id=broker_id, acting_master=True, data_version=version(connection))
            return register(table, what, connection=connection, policy=ACTING)

        def notices(change: Change) -> list[tuple[tuple[str, ...], int, str | None, str | None]]:
            return [
                (notice.recipients, notice.min_broker_id, notice.offline_addr, notice.ha_addr)
                for notice in change.effects
                if isinstance(notice, NotifyMinBroker)
            ]

        assert notices(come(OTHER, 2, 3)) == []
        assert (addrs(table, "base", policy=ACTING), perm(table, "base")) == ({0: OTHER}, PERM_READ)
        assert notices(come(SLAVE, 1, 2)) == [((OTHER,), 1, None, "10.0.0.2:10912")]
        assert (addrs(table, "base", policy=ACTING), perm(table, "base")) == ({0: SLAVE, 2: OTHER}, PERM_READ)
        assert notices(come(MASTER, 0, 1)) == [((SLAVE, OTHER), 0, None, "10.0.0.1:10912")]
        assert addrs(table, "base", policy=ACTING) == {0: MASTER, 1: SLAVE, 2: OTHER}
        assert perm(table, "base") == PERM_READ | PERM_WRITE
        assert notices(lose(table, 1)) == [((SLAVE, OTHER), 1, MASTER, None)]
        assert (addrs(table, "base", policy=ACTING), perm(table, "base")) == ({0: SLAVE, 2: OTHER}, PERM_READ)
        assert notices(lose(table, 2)) == [((OTHER,), 2, SLAVE, None)]
        assert (addrs(table, "base", policy=ACTING), perm(table, "base")) == ({0: OTHER}, PERM_READ)

    def test_a_writable_topic_has_no_acting_master(self, table: RouteTable) -> None:
        self.group(table)
        lose(table, 1)
        table.restore_write("broker-a")
        assert addrs(table, "TopicTest", policy=ACTING) == {1: SLAVE, 2: OTHER}

    def test_the_topic_that_shows_the_true_ids_has_no_acting_master(self, table: RouteTable) -> None:
        topic = "rmq_sys_SYNC_BROKER_MEMBER_broker-a"
        register(table, registration(addr=SLAVE, broker_id=1, topics=("base", topic), acting_master=True))
        assert addrs(table, topic, policy=ACTING) == {1: SLAVE}
        assert addrs(table, "base", policy=ACTING) == {0: SLAVE}

    def test_a_first_slave_without_acting_masters_is_writable(self, table: RouteTable) -> None:
        register(table, registration(addr=SLAVE, broker_id=1, acting_master=False))
        assert perm(table, "base") == PERM_READ | PERM_WRITE
