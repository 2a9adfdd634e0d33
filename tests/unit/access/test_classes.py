"""Each handled request has an access class, and classes include what they should."""

import pytest

from routebook.access.classes import BROKER_TRAFFIC, NEEDED, Access, expanded
from routebook.codes import ADMIN_WRITES
from routebook.handlers import HANDLERS


def test_every_handled_code_has_a_class() -> None:
    assert set(NEEDED) == set(HANDLERS)


def test_changes_by_operators_need_admin_write() -> None:
    assert {code for code, access in NEEDED.items() if access == (Access.ADMIN_WRITE,)} == ADMIN_WRITES


def test_readers_cannot_change_routes() -> None:
    readable = {code for code, access in NEEDED.items() if set(access) & {Access.ROUTE_READ, Access.ADMIN_READ}}
    assert readable.isdisjoint(ADMIN_WRITES | {103, 104, 217, 322, 904})


@pytest.mark.parametrize(
    ("given", "includes"),
    [
        ([Access.ROUTE_READ], {"route_read"}),
        ([Access.BROKER_CONTROL], {"broker_control", "route_read"}),
        ([Access.ADMIN_READ], {"admin_read", "route_read"}),
        ([Access.ADMIN_WRITE], {"admin_write", "admin_read", "route_read"}),
        ([Access.BROKER_CONTROL, Access.ADMIN_READ], {"broker_control", "admin_read", "route_read"}),
    ],
)
def test_included_classes(given: list[Access], includes: set[str]) -> None:
    assert set(expanded(given)) == includes


def test_brokers_traffic_is_what_brokers_send() -> None:
    assert {103, 104, 217, 322, 901, 904} == BROKER_TRAFFIC
