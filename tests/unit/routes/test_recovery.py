"""Recovered brokers: how they return, and tables whose journal has a gap."""

from collections.abc import Container

import pytest

from routebook.events import (
    BrokerChanged,
    BrokerDown,
    BrokerReturned,
    BrokerUp,
    DownReason,
    MappingsChanged,
    PermissionRestored,
    PermissionWiped,
    RouteEvent,
    TopicCause,
    TopicDeleted,
    TopicsChanged,
)
from routebook.model import Registration, TopicConfig
from routebook.routes import RouteTable
from tests.support.route_tables import (
    MASTER,
    OTHER,
    PLAIN,
    SLAVE,
    check_consistency,
    config,
    dump,
    key,
    mapping,
    perm,
    queues,
    register,
    registration,
    unregister,
    version,
)

OWN = ("broker-a", "A", "B", "C")  # a broker has a topic of its own name


def recovered(*what: Registration, uncertain: Container[str] | None = ()) -> RouteTable:
    """A table made of what happened to another one, as after a restart."""
    before, after = RouteTable(), RouteTable()
    for registered in what or (registration(topics=OWN),):
        for event in register(before, registered).events:
            assert after.apply(event, now_ms=0)
    after.begin_leases(1_000, max_ms=60_000, uncertain=uncertain)
    return after


def kinds(events: tuple[RouteEvent, ...]) -> list[type[RouteEvent]]:
    return [type(event) for event in events]


class TestLeases:
    def test_a_recovered_broker_has_its_own_timeout_up_to_the_setting(self) -> None:
        table = recovered(registration(timeout_ms=10_000), registration("b", addr=OTHER, timeout_ms=600_000))
        assert table.expire(11_000, policy=PLAIN).events == ()
        assert isinstance(table.expire(11_001, policy=PLAIN).events[0], BrokerDown)
        assert table.expire(61_000, policy=PLAIN).events == ()
        assert isinstance(table.expire(61_001, policy=PLAIN).events[0], BrokerDown)

    def test_a_heartbeat_keeps_it_for_its_own_timeout(self) -> None:
        table = recovered(registration(timeout_ms=600_000))
        table.heartbeat(key(), 50_000)
        assert table.expire(650_000, policy=PLAIN).events == ()
        assert table.is_disconnected(key())

    def test_it_is_disconnected_until_it_registers(self) -> None:
        table = recovered()
        assert table.is_disconnected(key())
        assert not table.is_changed(key(), version())
        assert kinds(register(table, registration(topics=OWN)).events) == [BrokerReturned]
        assert not table.is_disconnected(key())
        assert not table.is_disconnected(key("nobody:1"))

    def test_it_may_unregister_over_any_connection(self) -> None:
        table = recovered()
        (down, *_) = unregister(table, registration(topics=OWN), connection=7).events
        assert isinstance(down, BrokerDown)
        assert down.reason is DownReason.UNREGISTERED

    def test_another_address_can_replace_it(self) -> None:
        table = recovered()
        assert kinds(register(table, registration(addr=SLAVE, topics=OWN)).events) == [BrokerDown, BrokerUp]


class TestReturn:
    def test_with_the_same_version_nothing_else_changes(self) -> None:
        table = recovered()
        table.wipe_write("broker-a")
        assert kinds(register(table, registration(topics=OWN)).events) == [BrokerReturned]
        assert perm(table, "A") == 4

    def test_with_a_new_version_deleted_topics_are_removed(self) -> None:
        table = recovered()
        change = register(table, registration(topics=("broker-a", "A", "B"), data_version=version(2)))
        assert kinds(change.events) == [BrokerReturned, BrokerChanged, TopicsChanged]
        assert set(table.topics()) == {"broker-a", "A", "B"}

    @pytest.mark.parametrize(
        "topics",
        [("A", "B"), ("broker-a",), ("broker-a", config("D"))],
        ids=["without_its_own_topic", "one_topic", "a_part_of_many"],
    )
    def test_a_partial_registration_removes_nothing(self, topics: tuple[str | TopicConfig, ...]) -> None:
        many = (*OWN, *(f"t{n}" for n in range(9)))
        table = recovered(registration(topics=many))
        register(table, registration(topics=topics, data_version=version(2)))
        assert set(table.topics()) >= set(many)

    def test_only_the_first_registration_removes(self) -> None:
        table = recovered()
        register(table, registration(topics=OWN))
        register(table, registration(topics=("broker-a", "A"), data_version=version(2)))
        assert set(table.topics()) == set(OWN)

    def test_an_uncertain_broker_announces_all_with_the_same_version(self) -> None:
        table = recovered(uncertain={"broker-a"})
        table.wipe_write("broker-a")
        assert table.is_changed(key(), version())
        change = register(table, registration(topics=("broker-a", config("A", read=1), "B")))
        assert kinds(change.events) == [BrokerReturned, TopicsChanged]
        assert set(table.topics()) == {"broker-a", "A", "B"}
        assert perm(table, "B") == 6
        assert not table.is_changed(key(), version())

    def test_some_or_all_groups_are_uncertain(self) -> None:
        both = (registration(topics=OWN), registration("b", addr=OTHER))
        assert [lease.is_uncertain for lease in recovered(*both, uncertain={"b"}).lease_table.values()] == [False, True]
        assert [lease.is_uncertain for lease in recovered(*both, uncertain=None).lease_table.values()] == [True, True]


def up(addr: str = MASTER, *, broker_id: int = 0, cluster: str = "DefaultCluster") -> BrokerUp:
    return BrokerUp(
        cluster=cluster, broker="broker-a", broker_id=broker_id, addr=addr, timeout_ms=1, acting_master=False
    )


class TestHoles:
    """Events that do not follow from what is known are done as far as makes sense, and said to be odd."""

    @pytest.mark.parametrize(
        "event",
        [
            BrokerDown(cluster="C", broker="broker-a", broker_id=0, addr="x:1", reason=DownReason.CLOSED),
            BrokerReturned(cluster="C", broker="broker-a", broker_id=0, addr="x:1"),
            TopicsChanged(broker="ghost", cause=TopicCause.REGISTRATION, added={"T": queues()}),
            TopicsChanged(broker="broker-a", cause=TopicCause.REGISTRATION, removed=("nothing",)),
            PermissionWiped(broker="ghost", topics=1),
            PermissionRestored(broker="ghost", topics=1),
        ],
        ids=lambda event: type(event).__name__,
    )
    def test_events_that_do_not_fit_are_ignored(self, event: RouteEvent) -> None:
        table = recovered()
        before = dump(table)
        assert not table.apply(event, now_ms=0)
        assert dump(table) == before
        check_consistency(table)

    def test_a_change_of_an_unknown_broker_adds_it(self) -> None:
        table = RouteTable()
        changed = BrokerChanged(
            cluster="C", broker="a", broker_id=1, before_id=0, addr="x:1", timeout_ms=1, acting_master=False
        )
        assert not table.apply(changed, now_ms=0)
        assert table.member_group("a") == {1: "x:1"}
        check_consistency(table)

    def test_a_broker_that_joins_replaces_the_holder_of_its_id(self) -> None:
        table = recovered()
        assert not table.apply(up(SLAVE), now_ms=0)
        assert table.member_group("broker-a") == {0: SLAVE}
        assert not table.apply(up(SLAVE, broker_id=1, cluster="two"), now_ms=0)
        assert table.member_group("broker-a") == {1: SLAVE}
        check_consistency(table)

    def test_a_deletion_needs_nothing_to_delete(self) -> None:
        assert recovered().apply(TopicDeleted(topic="nothing", brokers=("ghost",)), now_ms=0)

    def test_orphans_of_a_crash_are_removed(self) -> None:
        table = recovered(registration(topics=OWN, mappings=[mapping("A", "broker-a")]), registration("b", addr=OTHER))
        down = BrokerDown(
            cluster="DefaultCluster", broker="broker-a", broker_id=0, addr=MASTER, reason=DownReason.CLOSED
        )
        assert table.apply(down, now_ms=0)  # the journal ends here: the event that removes the topics is missing
        change = table.remove_orphans()
        assert change.events == (
            TopicsChanged(broker="broker-a", cause=TopicCause.REMOVAL, removed=OWN),
            MappingsChanged(broker="broker-a", removed=("A",)),
        )
        check_consistency(table)
        assert set(table.topics()) == {"base", "TopicTest"}

    def test_consistent_tables_have_no_orphans(self) -> None:
        table = recovered()
        before = table.revision
        assert table.remove_orphans().events == ()
        assert table.revision == before
