"""What a Controller's request needs, and what it would change."""

from typing import Any

import pytest

from routebook.access.classes import Access
from routebook.access.decision import NOTHING, Target
from routebook.controller.access import needed, target_of
from routebook.controller.state import BrokerSet
from routebook.wire.command import Command


@pytest.mark.parametrize(
    ("code", "ext", "access"),
    [
        (904, {}, Access.BROKER_CONTROL),
        (1002, {"designateElect": "false"}, Access.BROKER_CONTROL),
        (1002, {"designateElect": "true"}, Access.ADMIN_WRITE),
        (1005, {}, Access.ROUTE_READ),
        (1009, {}, Access.ADMIN_WRITE),
        (1010, {}, Access.ADMIN_READ),
        (1011, {}, Access.ADMIN_WRITE),
    ],
)
def test_the_access_class_that_a_request_needs(code: int, ext: dict[str, Any], access: Access) -> None:
    assert needed(Command(code, 1, ext=ext)) == (access,)


def test_the_target_is_the_set_with_its_named_and_its_stored_cluster() -> None:
    sets = {"b-a": BrokerSet(name="b-a", cluster="C1")}
    command = Command(1013, 1, ext={"brokerName": "b-a", "clusterName": "C2"})
    assert target_of(sets, command) == Target(clusters=frozenset({"C1", "C2"}), brokers=frozenset({"b-a"}))
    assert target_of(sets, Command(1009, 1)) == Target(whole_server=True)
    assert target_of(sets, Command(1005, 1)) == NOTHING
