"""The same registration again: renewed while it would change nothing, worked through as soon as it could."""

from collections.abc import Callable

import pytest

from routebook.effects import Change
from routebook.events import DownReason
from routebook.model import RegisterResult
from routebook.routes import RouteTable
from tests.support.route_tables import (
    MASTER,
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
FINGERPRINT = b"what"


@pytest.fixture
def table() -> RouteTable:
    table = RouteTable()
    register(table, WHAT, fingerprint=FINGERPRINT)
    return table


def renew(table: RouteTable, *, connection: int = 1, now_ms: int = 7, fingerprint: bytes = FINGERPRINT) -> object:
    return table.renew(key(), fingerprint=fingerprint, connection=connection, now_ms=now_ms)


def test_a_renewal_refreshes_the_lease(table: RouteTable) -> None:
    before = table.revision
    assert renew(table, now_ms=100_000) == RegisterResult()
    assert table.expire(220_000, policy=PLAIN) == Change()
    assert table.revision == before


def test_a_renewal_over_another_connection_takes_the_broker_over(table: RouteTable) -> None:
    assert renew(table, connection=2) is not None
    assert table.connection_lost(1, reason=DownReason.CLOSED, policy=PLAIN) == Change()
    assert unregister(table, WHAT, connection=1) != Change()  # forgotten with its connection: an operator's now
    assert not table.has_lease(key())


def test_a_slave_is_told_of_its_master_again() -> None:
    table = RouteTable()
    register(table, registration())
    slave = registration(addr=SLAVE, broker_id=1)
    register(table, slave, fingerprint=FINGERPRINT)
    result = table.renew(slave.key, fingerprint=FINGERPRINT, connection=1, now_ms=1)
    assert result == RegisterResult(ha_addr="10.0.0.1:10912", master_addr=MASTER)


def test_other_bytes_are_no_renewal(table: RouteTable) -> None:
    assert renew(table, fingerprint=b"other") is None


def test_an_unknown_broker_has_nothing_to_renew() -> None:
    assert renew(RouteTable()) is None


def test_a_registration_without_fingerprint_cannot_be_renewed(table: RouteTable) -> None:
    register(table, WHAT)
    assert renew(table) is None


def test_a_null_version_is_renewed_until_there_is_something_to_repair() -> None:
    table = RouteTable()
    register(table, registration(data_version=None), fingerprint=FINGERPRINT)
    assert renew(table) is not None
    table.wipe_write("broker-a")
    assert renew(table) is None


HAPPENINGS: dict[str, Callable[[RouteTable], object]] = {
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


@pytest.mark.parametrize("happening", HAPPENINGS.values(), ids=HAPPENINGS)
def test_whatever_happened_to_its_group_makes_it_register(
    table: RouteTable, happening: Callable[[RouteTable], object]
) -> None:
    happening(table)
    assert renew(table) is None


def test_a_slave_is_told_when_its_masters_ha_address_changed() -> None:
    table = RouteTable()
    register(table, registration())
    slave = registration(addr=SLAVE, broker_id=1)
    register(table, slave, fingerprint=FINGERPRINT)
    register(table, registration(ha_addr="elsewhere:1"))
    assert table.renew(slave.key, fingerprint=FINGERPRINT, connection=1, now_ms=1) is None


def test_zone_of_another_member_makes_it_register(table: RouteTable) -> None:
    slave = registration(addr=SLAVE, broker_id=1)
    register(table, slave)
    register(table, WHAT, fingerprint=FINGERPRINT)
    assert renew(table) is not None
    register(table, registration(addr=SLAVE, broker_id=1, zone="Z"))
    assert renew(table) is None


def test_other_groups_do_not_matter(table: RouteTable) -> None:
    other = registration("broker-b", addr=OTHER, topics=("A", "Z"))
    register(table, other)
    table.wipe_write("broker-b")
    unregister(table, other)
    assert renew(table) is not None


def test_after_registering_again_it_renews_again(table: RouteTable) -> None:
    table.delete_topic("A", cluster=None)
    assert renew(table) is None
    register(table, WHAT, fingerprint=FINGERPRINT, policy=PURGING)
    assert renew(table) is not None
    assert table.topics() == ["B", "A"]


def test_who_speaks_for_other_groups_is_worked_through_each_time(table: RouteTable) -> None:
    speaker = registration("broker-b", addr=OTHER, mappings=[mapping("TopicTest", "broker-a")])
    register(table, speaker, fingerprint=FINGERPRINT)
    assert table.renew(speaker.key, fingerprint=FINGERPRINT, connection=1, now_ms=7) is None
