"""Queries of the route table, and revisions."""

import pytest

from routebook.model import BrokerData, ClusterInfo, Registration, TopicList
from routebook.routes import RouteTable
from tests.support.route_tables import (
    MASTER,
    OTHER,
    PLAIN,
    SLAVE,
    config,
    key,
    mapping,
    queue,
    register,
    registration,
    route,
    unregister,
    version,
)


@pytest.fixture
def table() -> RouteTable:
    table = RouteTable()
    register(table, registration(topics=("A", "B"), zone="Z", acting_master=True))
    register(table, registration("broker-b", addr=OTHER, cluster="two", topics=("B", "C")))
    return table


class TestViews:
    def test_a_route(self, table: RouteTable) -> None:
        found = route(table, "B")
        assert found.broker_datas == [
            BrokerData(
                broker_addrs={0: MASTER},
                broker_name="broker-a",
                cluster="DefaultCluster",
                enable_acting_master=True,
                zone_name="Z",
            ),
            BrokerData(broker_addrs={0: OTHER}, broker_name="broker-b", cluster="two", enable_acting_master=False),
        ]
        assert found.queue_datas == [queue("broker-a"), queue("broker-b")]
        assert found.filter_server_table == {}
        assert found.order_topic_conf is None
        assert found.topic_queue_mapping_by_broker is None

    def test_no_route(self, table: RouteTable) -> None:
        assert table.route("nobody's", PLAIN) is None
        assert table.queues("nobody's") is None
        assert table.route_revision("nobody's") == -1

    def test_filter_servers_of_addresses_that_have_some(self, table: RouteTable) -> None:
        register(table, registration(addr=SLAVE, broker_id=1, filter_servers=("f:1",)))
        assert route(table, "A").filter_server_table == {SLAVE: ["f:1"]}
        assert route(table, "C").filter_server_table == {}

    def test_clusters(self, table: RouteTable) -> None:
        assert table.cluster_info() == ClusterInfo(
            broker_addr_table={
                "broker-a": route(table, "A").broker_datas[0],
                "broker-b": route(table, "C").broker_datas[0],
            },
            cluster_addr_table={"DefaultCluster": ["broker-a"], "two": ["broker-b"]},
        )

    def test_members_are_sorted_by_id(self, table: RouteTable) -> None:
        register(table, registration(addr="ten", broker_id=10))
        register(table, registration(addr=SLAVE, broker_id=2))
        assert list(table.member_group("broker-a").items()) == [(0, MASTER), (2, SLAVE), (10, "ten")]
        assert table.member_group("ghost") == {}

    def test_lists(self, table: RouteTable) -> None:
        assert table.topics() == ["A", "B", "C"]
        assert table.topics_of_cluster("two") == ["B", "C"]
        assert table.topics_of_cluster("nowhere") == []
        assert table.system_topics() == TopicList(
            broker_addr=MASTER, topic_list=["DefaultCluster", "broker-a", "two", "broker-b"]
        )

    def test_an_empty_table(self) -> None:
        table = RouteTable()
        assert table.cluster_info() == ClusterInfo(broker_addr_table={}, cluster_addr_table={})
        assert table.system_topics() == TopicList(topic_list=[])
        assert table.sizes() == (0, 0, 0, 0)

    def test_a_cluster_named_like_its_broker_is_listed_once(self) -> None:
        table = RouteTable()
        register(table, registration("same", cluster="same"))
        assert table.system_topics().topic_list == ["same"]

    def test_the_first_queue_entry_decides_for_unit_topics(self, table: RouteTable) -> None:
        table.register_topic("B", [queue("broker-b", flag=1)])
        assert table.unit_topics(bool) == []
        table.register_topic("B", [queue("broker-a", flag=1)])
        assert table.unit_topics(bool) == ["B"]

    def test_sizes(self, table: RouteTable) -> None:
        register(table, registration(addr=SLAVE, broker_id=1))
        assert table.sizes()._asdict() == {"brokers": 3, "groups": 2, "clusters": 2, "topics": 3}

    def test_a_view_is_a_copy(self, table: RouteTable) -> None:
        table.member_group("broker-a").clear()
        table.cluster_info().broker_addr_table.clear()
        route(table, "A").broker_datas[0].broker_addrs.clear()
        assert table.member_group("broker-a") == {0: MASTER}


class TestRevisions:
    def test_only_a_changed_topic_has_a_new_revision(self, table: RouteTable) -> None:
        before = table.route_revision("A"), table.route_revision("C")
        table.register_topic("A", [queue("broker-a", read=1)])
        assert table.route_revision("A") == table.revision > before[0]
        assert table.route_revision("C") == before[1]

    def test_a_changed_group_changes_all_its_topics(self, table: RouteTable) -> None:
        before = table.route_revision("C")
        register(table, registration(addr=SLAVE, broker_id=1))
        assert table.route_revision("A") == table.route_revision("B") == table.revision
        assert table.route_revision("C") == before

    @pytest.mark.parametrize("what", ["version", "ha_addr", "timeout"])
    def test_changes_outside_of_routes_do_not_change_them(self, table: RouteTable, what: str) -> None:
        before = table.revision, table.route_revision("A")
        register(
            table,
            registration(
                topics=("A", "B"),
                zone="Z",
                acting_master=True,
                data_version=version(2) if what == "version" else version(),
                ha_addr="elsewhere" if what == "ha_addr" else None,
                timeout_ms=1 if what == "timeout" else None,
            ),
        )
        assert (table.revision, table.route_revision("A")) == (before[0] + 1, before[1])

    @pytest.mark.parametrize(
        "what",
        [
            registration(topics=("A", "B"), filter_servers=("f",)),
            registration(topics=("A", "B"), mappings=[mapping("A", "broker-a")], data_version=version(2)),
        ],
        ids=["filter_servers", "mappings"],
    )
    def test_filter_servers_and_mappings_change_routes(self, table: RouteTable, what: Registration) -> None:
        register(table, registration(topics=("A", "B")))
        before = table.route_revision("A")
        register(table, what)
        assert table.route_revision("A") == table.revision > before

    def test_a_restored_topic_has_a_higher_revision(self, table: RouteTable) -> None:
        before = table.route_revision("A")
        table.delete_topic("A", cluster=None)
        assert table.route_revision("A") == -1
        table.register_topic("A", [queue("broker-a")])
        assert table.route_revision("A") > before

    def test_one_change_is_one_revision(self, table: RouteTable) -> None:
        before = table.revision
        register(table, registration("broker-c", addr=SLAVE, topics=[config(f"t{n}") for n in range(9)]))
        assert table.revision == before + 1
        unregister(table, registration("broker-c", addr=SLAVE))
        assert table.revision == before + 2

    def test_heartbeats_do_not_change_revisions(self, table: RouteTable) -> None:
        before = table.revision
        assert table.heartbeat(key(), 5)
        assert table.revision == before
