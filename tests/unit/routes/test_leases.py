"""Renewing a lease: accepted as long as registering again would change nothing."""

from collections.abc import Callable

import pytest

from routebook.effects import Change
from routebook.events import DownReason
from routebook.model import Registration, RoutePolicy
from routebook.routes import RouteTable
from tests.support.route_tables import (
    OTHER,
    PLAIN,
    PURGING,
    SLAVE,
    key,
    mapping,
    queue,
    register,
    registration,
    unregister,
    version,
)

WHAT = registration(topics=("A", "B"), mappings=[mapping("A", "broker-a")])


class Registered:
    """A table in which one broker is registered, and the revision of its group."""

    def __init__(self, what: Registration = WHAT, table: RouteTable | None = None) -> None:
        self.table = RouteTable() if table is None else table
        self.what = what
        self.register()

    def register(self, policy: RoutePolicy = PLAIN) -> None:
        found = self.table.register(self.what, connection=1, now_ms=0, policy=policy).group_revision
        assert found is not None
        self.since = found

    def renew(self, *, connection: int = 1, now_ms: int = 7) -> bool:
        return self.table.renew(
            self.what.key, broker=self.what.broker, since=self.since, connection=connection, now_ms=now_ms
        )


@pytest.fixture
def registered() -> Registered:
    return Registered()


def test_a_renewal_refreshes_the_lease(registered: Registered) -> None:
    table = registered.table
    before = table.revision
    assert registered.renew(now_ms=100_000)
    assert table.expire(220_000, policy=PLAIN) == Change()
    assert table.revision == before


def test_a_renewal_over_another_connection_takes_the_broker_over(registered: Registered) -> None:
    table = registered.table
    assert registered.renew(connection=2)
    assert table.connection_lost(1, reason=DownReason.CLOSED, policy=PLAIN) == Change()
    assert unregister(table, WHAT, connection=1) != Change()  # the old connection is forgotten: an operator's request
    assert not table.has_lease(key())


def test_an_unknown_broker_cannot_be_renewed() -> None:
    assert not RouteTable().renew(key(), broker="broker-a", since=1, connection=1, now_ms=7)


def test_a_broker_that_lost_its_connection_while_protected_has_to_register(registered: Registered) -> None:
    registered.table.connection_lost(1, reason=DownReason.IDLE, policy=PLAIN, protected={key()})
    assert not registered.renew()


def test_a_null_version_is_renewed_until_its_group_changes() -> None:
    registered = Registered(registration(data_version=None))
    assert registered.renew()
    registered.table.wipe_write("broker-a")
    assert not registered.renew()


CHANGES: dict[str, Callable[[RouteTable], object]] = {
    "topic deleted": lambda t: t.delete_topic("A", cluster=None),
    "topic registered": lambda t: t.register_topic("C", [queue("broker-a")]),
    "permission wiped": lambda t: t.wipe_write("broker-a"),
    "slave came": lambda t: register(t, registration(addr=SLAVE, broker_id=1)),
    "replaced": lambda t: register(t, registration(addr=OTHER)),
    "moved": lambda t: register(t, registration(cluster="elsewhere")),
    "left": lambda t: unregister(t, WHAT),
    "expired": lambda t: t.expire(10**9, policy=PLAIN),
    "connection lost": lambda t: t.connection_lost(1, reason=DownReason.CLOSED, policy=PLAIN),
    "another registration": lambda t: register(t, registration(topics=("A", "B"), data_version=version(2))),
    "another name from its address": lambda t: register(t, registration("broker-b", data_version=version(2))),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_broker_whose_group_changed_has_to_register(
    registered: Registered, change: Callable[[RouteTable], object]
) -> None:
    change(registered.table)
    assert not registered.renew()


def test_a_slave_whose_masters_ha_address_changed_has_to_register() -> None:
    table = RouteTable()
    register(table, registration())
    slave = Registered(registration(addr=SLAVE, broker_id=1), table)
    register(table, registration(ha_addr="elsewhere:1"))
    assert not slave.renew()


def test_a_broker_has_to_register_if_another_member_changed_the_zone(registered: Registered) -> None:
    register(registered.table, registration(addr=SLAVE, broker_id=1))
    registered.register()
    assert registered.renew()
    register(registered.table, registration(addr=SLAVE, broker_id=1, zone="Z"))
    assert not registered.renew()


def test_changes_of_other_groups_do_not_matter(registered: Registered) -> None:
    other = registration("broker-b", addr=OTHER, topics=("A", "Z"))
    register(registered.table, other)
    registered.table.wipe_write("broker-b")
    unregister(registered.table, other)
    assert registered.renew()


def test_after_registering_again_it_can_be_renewed_again(registered: Registered) -> None:
    registered.table.delete_topic("A", cluster=None)
    assert not registered.renew()
    registered.register(PURGING)
    assert registered.renew()
    assert registered.table.topics() == ["B", "A"]
