"""103: what a registration changes, and its events and notices."""

import pytest

from routebook.effects import Change, NotifyMinBroker
from routebook.events import (
    BrokerChanged,
    BrokerDown,
    BrokerUp,
    DownReason,
    MappingsChanged,
    QueueChange,
    TopicCause,
    TopicsChanged,
)
from routebook.model import BrokerKey, DataVersion, RegisterResult, Registration, RoutePolicy
from routebook.routes import RouteTable
from routebook.routes.registration import Registered
from tests.support.route_tables import (
    MASTER,
    OTHER,
    PLAIN,
    PURGING,
    SLAVE,
    addrs,
    config,
    dump,
    key,
    mapping,
    perm,
    queue,
    queues,
    register,
    registration,
    result_of,
    route,
    unregister,
    version,
)

NOTIFYING = RoutePolicy(notify_min_broker_id_changed=True)


@pytest.fixture
def table() -> RouteTable:
    return RouteTable()


class TestWhatItSays:
    def test_a_new_broker_is_registered_with_its_topics(self, table: RouteTable) -> None:
        change = register(table, registration(topics=("A", "B"), zone="Z", filter_servers=("f:1",), timeout_ms=10))
        assert change.events == (
            BrokerUp(
                cluster="DefaultCluster",
                broker="broker-a",
                broker_id=0,
                addr=MASTER,
                ha_addr="10.0.0.1:10912",
                timeout_ms=10,
                acting_master=False,
                zone="Z",
                data_version=version(),
                filter_servers=("f:1",),
            ),
            TopicsChanged(
                broker="broker-a",
                cause=TopicCause.REGISTRATION,
                added={"A": queues(), "B": queues()},
            ),
        )

    def test_the_same_registration_again_has_no_events(self, table: RouteTable) -> None:
        register(table, registration(), connection=1)
        before = table.revision
        assert register(table, registration(), connection=2, now_ms=5) == Change()
        assert table.revision == before
        assert table.lease_table[key()].last_update_ms == 5

    def test_a_new_version_reports_changed_queues(self, table: RouteTable) -> None:
        register(table, registration(topics=("A", "B")))
        change = register(table, registration(topics=("A", config("B", read=4)), data_version=version(2)))
        assert isinstance(change.events[0], BrokerChanged)
        assert change.events[0].before_id == 0
        assert change.events[1:] == (
            TopicsChanged(
                broker="broker-a",
                cause=TopicCause.REGISTRATION,
                changed={"B": QueueChange(queues(), queues(read=4))},
            ),
        )

    @pytest.mark.parametrize(
        "again",
        [
            registration(ha_addr="elsewhere:1"),
            registration(timeout_ms=1),
            registration(zone="Z"),
            registration(acting_master=True),
            registration(data_version=version(2)),
            registration(data_version=None),
            registration(filter_servers=("f:1",)),
        ],
        ids=["ha_addr", "timeout", "zone", "acting_master", "version", "null_version", "filter_servers"],
    )
    def test_any_change_of_a_broker_is_an_event(self, table: RouteTable, again: Registration) -> None:
        register(table, registration())
        change = register(table, again)
        assert [type(event) for event in change.events] == [BrokerChanged]

    def test_of_two_topics_with_one_name_the_last_counts(self, table: RouteTable) -> None:
        change = register(table, registration(topics=(config("A", read=1), config("A", read=2))))
        assert route(table, "A").queue_datas == [queue("broker-a", read=2)]
        assert isinstance(change.events[1], TopicsChanged)
        assert change.events[1].added == {"A": queues(read=2)}


class TestUpsert:
    def test_a_registration_is_not_the_whole_set(self, table: RouteTable) -> None:
        register(table, registration(topics=("A", "B")))
        register(table, registration(topics=("C",), data_version=version(2)))
        assert set(table.topics()) == {"A", "B", "C"}

    def test_an_unchanged_version_hides_changed_queues_but_not_missing_ones(self, table: RouteTable) -> None:
        register(table, registration(topics=("A", "B")))
        table.delete_topic("A", cluster=None)
        register(table, registration(topics=(config("A", read=4), config("B", read=4))))
        assert route(table, "A").queue_datas == [queue("broker-a", read=4)]
        assert route(table, "B").queue_datas == [queue("broker-a")]

    def test_a_null_version_always_counts_as_new(self, table: RouteTable) -> None:
        register(table, registration(data_version=None))
        register(table, registration(data_version=None, topics=("base", config("TopicTest", read=4))))
        assert route(table, "TopicTest").queue_datas == [queue("broker-a", read=4)]

    def test_versions_differ_in_any_of_three_parts(self, table: RouteTable) -> None:
        register(table, registration())
        assert not table.is_changed(key(), version())
        for other in (version(2), version(state=1), version(timestamp=1), None):
            assert table.is_changed(key(), other)
        assert table.is_changed(key(OTHER), version())

    def test_a_version_without_counter_equals_itself(self, table: RouteTable) -> None:
        bare = DataVersion(counter=None, state_version=0, timestamp=1)
        register(table, registration(data_version=bare))
        assert not table.is_changed(key(), bare)
        assert table.is_changed(key(), DataVersion(counter=0, state_version=0, timestamp=1))

    def test_a_slave_of_a_master_does_not_announce_topics(self, table: RouteTable) -> None:
        register(table, registration(topics=("A", "B")))
        register(table, registration(addr=SLAVE, broker_id=1, topics=("A", "B", "C"), acting_master=True))
        assert set(table.topics()) == {"A", "B"}

    def test_a_slave_before_5_0_never_announces_topics(self, table: RouteTable) -> None:
        register(table, registration(addr=SLAVE, broker_id=1, acting_master=None))
        assert table.topics() == []
        assert table.member_group("broker-a") == {1: SLAVE}

    def test_purging_drops_other_topics_unless_there_are_mappings(self, table: RouteTable) -> None:
        register(table, registration(topics=("A", "B"), mappings=[mapping("A", "broker-a")]))
        change = register(table, registration(topics=("A", "C"), mappings=[mapping("A", "broker-a")]), policy=PURGING)
        assert set(table.topics()) == {"A", "B", "C"}
        change = register(table, registration(topics=("B", "C")), policy=PURGING)
        assert set(table.topics()) == {"B", "C"}
        assert change.events == (
            TopicsChanged(broker="broker-a", cause=TopicCause.REGISTRATION, removed=("A",)),
            MappingsChanged(broker="broker-a", removed=("A",)),
        )


class TestRefusals:
    def test_one_topic_of_an_unknown_id_is_rejected_without_a_change(self, table: RouteTable) -> None:
        what = registration(topics=("A",))
        assert table.register(what, connection=1, now_ms=0, policy=PLAIN) == Registered(None)
        assert dump(table) == dump(RouteTable())
        assert table.revision == 0

    def test_one_topic_does_not_change_a_role(self, table: RouteTable) -> None:
        register(table, registration(addr=SLAVE, broker_id=1))
        before = dump(table)
        assert result_of(table, registration(addr=SLAVE, broker_id=0, topics=("A",))) is None
        assert dump(table) == before

    @pytest.mark.parametrize("topics", [("A",), ()])
    def test_one_topic_or_none_of_a_known_id_is_accepted(self, table: RouteTable, topics: tuple[str, ...]) -> None:
        register(table, registration())
        assert result_of(table, registration(topics=topics, data_version=version(2))) is not None

    def test_a_first_registration_without_topics_is_accepted(self, table: RouteTable) -> None:
        assert result_of(table, registration(topics=())) == RegisterResult()
        assert table.member_group("broker-a") == {0: MASTER}

    def test_a_null_table_changes_nothing(self, table: RouteTable) -> None:
        assert result_of(table, registration(topics=None)) == RegisterResult()
        assert dump(table) == dump(RouteTable())

    def test_a_later_epoch_keeps_its_id(self, table: RouteTable) -> None:
        register(table, registration(data_version=version(state=5)))
        before = dump(table)
        late = registration(addr=OTHER, data_version=version(9, state=4), zone="Z", acting_master=True)
        assert table.register(late, connection=2, now_ms=0, policy=PLAIN) == Registered(RegisterResult())
        assert dump(table) == before
        assert not table.has_lease(key(OTHER))

    @pytest.mark.parametrize("state", [5, 6])
    def test_an_equal_or_later_epoch_takes_the_id(self, table: RouteTable, state: int) -> None:
        register(table, registration(data_version=version(state=5)))
        register(table, registration(addr=OTHER, data_version=version(state=state)))
        assert addrs(table, "TopicTest") == {0: OTHER}

    def test_a_former_master_is_removed(self, table: RouteTable) -> None:
        register(table, registration(data_version=version(state=5)))
        register(table, registration(addr=OTHER, broker_id=1, data_version=version(state=4)))
        late = registration(addr=OTHER, broker_id=0, data_version=version(state=4))
        result, change, *_ = table.register(late, connection=2, now_ms=0, policy=PLAIN)
        assert result == RegisterResult()
        assert change.events == (
            BrokerDown(
                cluster="DefaultCluster", broker="broker-a", broker_id=1, addr=OTHER, reason=DownReason.REPLACED
            ),
        )
        assert addrs(table, "TopicTest") == {0: MASTER}
        assert not table.has_lease(key(OTHER))

    def test_a_null_version_counts_as_epoch_0(self, table: RouteTable) -> None:
        register(table, registration(data_version=None))
        register(table, registration(addr=OTHER, data_version=None))
        assert addrs(table, "TopicTest") == {0: OTHER}


class TestReplacement:
    def test_an_address_that_loses_its_id_is_removed(self, table: RouteTable) -> None:
        register(table, registration(filter_servers=("f:1",)))
        change = register(table, registration(addr=OTHER))
        assert change.events[0] == BrokerDown(
            cluster="DefaultCluster", broker="broker-a", broker_id=0, addr=MASTER, reason=DownReason.REPLACED
        )
        assert isinstance(change.events[1], BrokerUp)
        assert not table.has_lease(key(MASTER))
        assert route(table, "TopicTest").filter_server_table == {}

    def test_a_role_switch_keeps_the_lease(self, table: RouteTable) -> None:
        register(table, registration())
        register(table, registration(addr=SLAVE, broker_id=1))
        change = register(table, registration(addr=SLAVE, broker_id=0))
        assert [type(event) for event in change.events] == [BrokerDown, BrokerChanged]
        switched = change.events[1]
        assert isinstance(switched, BrokerChanged)
        assert (switched.before_id, switched.broker_id) == (1, 0)
        assert table.member_group("broker-a") == {0: SLAVE}

    def test_a_broker_that_moves_leaves_its_old_cluster(self, table: RouteTable) -> None:
        register(table, registration(cluster="old"))
        change = register(table, registration(cluster="new"))
        assert [type(event) for event in change.events] == [BrokerDown, BrokerUp]
        info = table.cluster_info()
        assert info.cluster_addr_table == {"new": ["broker-a"]}
        assert info.broker_addr_table["broker-a"].cluster == "new"
        assert not table.has_lease(key(cluster="old"))
        assert table.topics_of_cluster("old") == []

    def test_one_name_in_two_clusters_is_one_group_under_its_first_cluster(self, table: RouteTable) -> None:
        register(table, registration(cluster="one"))
        slave = registration(addr=SLAVE, broker_id=1, cluster="two")
        assert result_of(table, slave) == RegisterResult()  # its master lives in another cluster
        info = table.cluster_info()
        assert info.cluster_addr_table == {"one": ["broker-a"], "two": ["broker-a"]}
        assert info.broker_addr_table["broker-a"].broker_addrs == {0: MASTER, 1: SLAVE}
        assert info.broker_addr_table["broker-a"].cluster == "one"

    def test_a_group_has_the_name_of_a_cluster_with_a_member(self, table: RouteTable) -> None:
        first = registration(cluster="one")
        register(table, first)
        register(table, registration(addr=SLAVE, broker_id=1, cluster="two"))
        unregister(table, first)
        info = table.cluster_info()
        assert info.cluster_addr_table == {"two": ["broker-a"]}
        assert info.broker_addr_table["broker-a"].cluster == "two"

    def test_an_epoch_of_another_cluster_does_not_count(self, table: RouteTable) -> None:
        register(table, registration(cluster="one", data_version=version(state=5)))
        register(table, registration(addr=OTHER, cluster="two", data_version=version(state=1)))
        assert table.member_group("broker-a") == {0: OTHER}

    def test_two_names_from_one_address_share_a_lease_and_leave_separately(self, table: RouteTable) -> None:
        one, two = registration("broker-a"), registration("broker-b", data_version=version(7))
        register(table, one, connection=1)
        register(table, two, connection=2)
        assert table.data_version(key()) == version(7)
        table.connection_lost(1, reason=DownReason.CLOSED, policy=PLAIN)
        assert table.member_group("broker-a") == {}
        assert table.member_group("broker-b") == {0: MASTER}
        assert table.has_lease(key())
        table.expire(10**9, policy=PLAIN)
        assert dump(table) == dump(RouteTable())


class TestFlagsAndLists:
    def test_the_last_member_to_register_sets_zone_and_acting_master(self, table: RouteTable) -> None:
        register(table, registration(zone="Z", acting_master=True))
        register(table, registration(addr=SLAVE, broker_id=1, acting_master=None))
        group = table.group("broker-a")
        assert group is not None
        assert (group.zone, group.enable_acting_master) == (None, False)

    def test_no_list_of_filter_servers_leaves_them_and_an_empty_one_removes_them(self, table: RouteTable) -> None:
        register(table, registration(filter_servers=("f:1", "f:2")))
        register(table, registration(filter_servers=None))
        assert route(table, "TopicTest").filter_server_table == {MASTER: ["f:1", "f:2"]}
        register(table, registration(filter_servers=()))
        assert route(table, "TopicTest").filter_server_table == {}

    def test_the_default_timeout_is_120_s(self, table: RouteTable) -> None:
        register(table, registration())
        assert table.lease_table[key()].timeout_ms == 120_000
        register(table, registration(timeout_ms=0))
        assert table.lease_table[key()].timeout_ms == 0

    def test_a_slave_gets_the_address_of_its_master(self, table: RouteTable) -> None:
        slave = registration(addr=SLAVE, broker_id=1)
        assert result_of(table, slave) == RegisterResult()
        register(table, registration())
        assert result_of(table, slave) == RegisterResult(ha_addr="10.0.0.1:10912", master_addr=MASTER)
        unregister(table, registration())
        assert result_of(table, slave) == RegisterResult()


class TestMappings:
    def test_they_are_events_and_in_routes(self, table: RouteTable) -> None:
        info = mapping("base", "broker-a")
        change = register(table, registration(mappings=[info]))
        assert change.events[-1] == MappingsChanged(broker="broker-a", mappings={"base": info})
        assert route(table, "base").topic_queue_mapping_by_broker == {"broker-a": info}
        assert route(table, "TopicTest").topic_queue_mapping_by_broker is None

    def test_a_new_version_replaces_them_and_leaves_others(self, table: RouteTable) -> None:
        register(table, registration(mappings=[mapping("base", "broker-a"), mapping("TopicTest", "broker-a")]))
        newer = mapping("base", "broker-a", epoch=2)
        register(table, registration(mappings=[newer]))
        assert route(table, "base").topic_queue_mapping_by_broker == {"broker-a": mapping("base", "broker-a")}
        register(table, registration(mappings=[newer], data_version=version(2)))
        assert route(table, "base").topic_queue_mapping_by_broker == {"broker-a": newer}
        assert route(table, "TopicTest").topic_queue_mapping_by_broker is not None

    def test_they_are_removed_and_restored_with_their_topic(self, table: RouteTable) -> None:
        what = registration(mappings=[mapping("base", "broker-a")])
        register(table, what)
        table.delete_topic("base", cluster=None)
        assert table.mapping_table == {}
        register(table, what)
        assert route(table, "base").topic_queue_mapping_by_broker == {"broker-a": mapping("base", "broker-a")}

    def test_one_without_a_name_belongs_to_the_broker(self, table: RouteTable) -> None:
        register(table, registration(mappings=[mapping("base", None)]))
        assert route(table, "base").topic_queue_mapping_by_broker == {"broker-a": mapping("base", None)}


class TestNotices:
    def test_the_others_are_notified_of_a_lower_id(self, table: RouteTable) -> None:
        register(table, registration(addr=SLAVE, broker_id=2), policy=NOTIFYING)
        change = register(table, registration(addr=OTHER, broker_id=1), policy=NOTIFYING)
        assert change.effects == (
            NotifyMinBroker(recipients=(SLAVE,), min_broker_id=1, min_broker_addr=OTHER, ha_addr="10.0.0.3:10912"),
        )
        change = register(table, registration(), policy=NOTIFYING)
        assert change.effects == (
            NotifyMinBroker(
                recipients=(OTHER, SLAVE), min_broker_id=0, min_broker_addr=MASTER, ha_addr="10.0.0.1:10912"
            ),
        )

    def test_the_first_member_of_a_group_is_not_notified(self, table: RouteTable) -> None:
        assert register(table, registration(addr=SLAVE, broker_id=1), policy=NOTIFYING).effects == ()

    def test_a_first_member_with_a_negative_id_is_notified(self, table: RouteTable) -> None:
        change = register(table, registration(broker_id=-1), policy=NOTIFYING)
        assert [effect.recipients for effect in change.effects if isinstance(effect, NotifyMinBroker)] == [(MASTER,)]

    def test_without_the_setting_there_are_no_notices(self, table: RouteTable) -> None:
        register(table, registration(addr=SLAVE, broker_id=1))
        assert register(table, registration()).effects == ()


def test_the_same_queues_are_one_object_for_all_topics(table: RouteTable) -> None:
    register(table, registration(topics=[f"t{n}" for n in range(5)]))
    register(table, registration("broker-b", addr=OTHER, topics=[f"t{n}" for n in range(5)]))
    for broker in ("broker-a", "broker-b"):
        assert len({id(entry.queues[broker]) for entry in table.topic_table.values()}) == 1
    assert len({id(name) for entry in table.topic_table.values() for name in entry.queues}) == 2


def test_sharing_is_bounded(table: RouteTable) -> None:
    register(table, registration(topics=[config(f"t{n}", read=n) for n in range(5000)]))
    group = table.group("broker-a")
    assert group is not None
    assert len(group.shapes) < 5000
    assert perm(table, "t4999") == 6
    assert route(table, "t17").queue_datas == [queue("broker-a", read=17)]


def test_an_unknown_key_has_no_lease(table: RouteTable) -> None:
    assert table.data_version(BrokerKey("c", "a")) is None
    assert not table.heartbeat(BrokerKey("c", "a"), 1)


def test_a_group_keeps_its_number_of_topics_when_its_only_member_is_replaced(table: RouteTable) -> None:
    register(table, registration(topics=("A", "B")))
    register(table, registration(addr=OTHER, topics=("A", "B")), connection=2)
    group = table.group("broker-a")
    assert group is not None
    assert group.topics == 2
