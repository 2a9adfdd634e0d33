"""217 and 216, 205 and 327: single topics and write permissions."""

import pytest

from routebook.effects import Change
from routebook.events import (
    PermissionRestored,
    PermissionWiped,
    QueueChange,
    TopicCause,
    TopicDeleted,
    TopicsChanged,
)
from routebook.model import QueueData
from routebook.routes import RouteTable
from tests.support.route_tables import (
    OTHER,
    PLAIN,
    config,
    mapping,
    perm,
    queue,
    queues,
    register,
    registration,
    route,
    version,
)


@pytest.fixture
def table() -> RouteTable:
    """Two groups in two clusters."""
    table = RouteTable()
    register(table, registration("broker-a", cluster="one", topics=("A", "B")))
    register(table, registration("broker-b", addr=OTHER, cluster="two", topics=("B", "C")))
    return table


class TestRegisterTopic:
    def test_a_new_topic_on_known_brokers(self, table: RouteTable) -> None:
        change = table.register_topic("N", [queue("broker-a", perm=4), queue("broker-b", read=2)])
        assert route(table, "N").queue_datas == [queue("broker-a", perm=4), queue("broker-b", read=2)]
        assert change.events == (
            TopicsChanged(broker="broker-a", cause=TopicCause.REGISTER_TOPIC, added={"N": queues(perm=4)}),
            TopicsChanged(broker="broker-b", cause=TopicCause.REGISTER_TOPIC, added={"N": queues(read=2)}),
        )

    def test_a_new_topic_with_an_unknown_broker_is_not_stored(self, table: RouteTable) -> None:
        assert table.register_topic("N", [queue("broker-a"), queue("ghost")]) == Change()
        assert table.route("N", PLAIN) is None

    def test_for_an_existing_topic_entries_before_the_unknown_broker_are_stored(self, table: RouteTable) -> None:
        table.register_topic("A", [queue("broker-a", read=1), queue("ghost"), queue("broker-b")])
        assert route(table, "A").queue_datas == [queue("broker-a", read=1)]

    def test_it_overwrites(self, table: RouteTable) -> None:
        change = table.register_topic("A", [queue("broker-a", perm=2, read=1, write=3, flag=1)])
        after = queue("broker-a", perm=2, read=1, write=3, flag=1)
        assert route(table, "A").queue_datas == [after]
        assert change.events == (
            TopicsChanged(
                broker="broker-a",
                cause=TopicCause.REGISTER_TOPIC,
                changed={"A": QueueChange(queues(), queues(perm=2, read=1, write=3, flag=1))},
            ),
        )

    @pytest.mark.parametrize("given", [[], [queue("broker-a")]], ids=["none", "the_same"])
    def test_equal_queues_are_not_a_change(self, table: RouteTable, given: list[QueueData]) -> None:
        before = table.revision
        assert table.register_topic("A", given) == Change()
        assert table.revision == before


class TestDeleteTopic:
    def test_everywhere(self, table: RouteTable) -> None:
        change = table.delete_topic("B", cluster=None)
        assert table.route("B", PLAIN) is None
        assert change.events == (TopicDeleted(topic="B", brokers=("broker-a", "broker-b")),)

    def test_in_one_cluster(self, table: RouteTable) -> None:
        change = table.delete_topic("B", cluster="two")
        assert route(table, "B").queue_datas == [queue("broker-a")]
        assert change.events == (TopicDeleted(topic="B", cluster="two", brokers=("broker-b",)),)

    def test_a_topic_is_removed_with_its_last_queues(self, table: RouteTable) -> None:
        table.delete_topic("C", cluster="two")
        assert set(table.topics()) == {"A", "B"}

    @pytest.mark.parametrize(("topic", "cluster"), [("N", None), ("A", "two"), ("A", "nowhere")])
    def test_nothing_to_delete(self, table: RouteTable, topic: str, cluster: str | None) -> None:
        before = table.revision
        assert table.delete_topic(topic, cluster=cluster) == Change()
        assert table.revision == before

    def test_mappings_of_the_same_brokers_are_removed(self, table: RouteTable) -> None:
        for broker, addr, cluster in (("broker-a", "10.0.0.1:10911", "one"), ("broker-b", OTHER, "two")):
            register(
                table,
                registration(
                    broker,
                    addr=addr,
                    cluster=cluster,
                    topics=("B",),
                    mappings=[mapping("B", broker)],
                    data_version=version(2),
                ),
            )
        table.delete_topic("B", cluster="one")
        assert table.mapping_table == {"B": {"broker-b": mapping("B", "broker-b")}}

    def test_it_is_restored_by_the_next_registration(self, table: RouteTable) -> None:
        table.delete_topic("A", cluster=None)
        register(table, registration("broker-a", cluster="one", topics=("A", "B")))
        assert route(table, "A").queue_datas == [queue("broker-a")]


class TestPermissions:
    def test_wiping_clears_only_the_write_bit(self, table: RouteTable) -> None:
        register(
            table,
            registration("broker-a", cluster="one", topics=(config("A", perm=7), "B"), data_version=version(2)),
        )
        assert table.wipe_write("broker-a") == (2, Change((PermissionWiped(broker="broker-a", topics=2),)))
        assert (perm(table, "A"), perm(table, "B"), perm(table, "B", "broker-b")) == (5, 4, 6)

    def test_restoring_sets_only_read_and_write(self, table: RouteTable) -> None:
        register(
            table,
            registration("broker-a", cluster="one", topics=(config("A", perm=7), "B"), data_version=version(2)),
        )
        table.wipe_write("broker-a")
        assert table.restore_write("broker-a") == (2, Change((PermissionRestored(broker="broker-a", topics=2),)))
        assert (perm(table, "A"), perm(table, "B")) == (6, 6)

    def test_all_topics_are_counted_but_only_changes_are_events(self, table: RouteTable) -> None:
        table.wipe_write("broker-a")
        before = table.revision
        assert table.wipe_write("broker-a") == (2, Change())
        assert table.wipe_write("ghost") == (0, Change())
        assert table.revision == before

    def test_a_wipe_lasts_until_the_next_version(self, table: RouteTable) -> None:
        what = registration("broker-a", cluster="one", topics=("A", "B"))
        table.wipe_write("broker-a")
        register(table, what)
        assert perm(table, "A") == 4
        register(table, registration("broker-a", cluster="one", topics=("A", "B"), data_version=version(2)))
        assert perm(table, "A") == 6
