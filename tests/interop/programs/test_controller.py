"""Brokers in controller mode with a Java controller: the route follows a failover."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.programs.conftest import Pair
from tests.interop.programs.nameserver_probe import wait_until
from tests.support.controllers import controlled_broker, java_controller

pytestmark = [pytest.mark.java, pytest.mark.slow]


@pytest.mark.program("Controller and two brokers", "5.5.0", "the master is killed: the other is in the route as master")
def test_the_route_follows_a_failover(
    pair: Pair, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with java_controller(tmp_path / "controller", enableElectUncleanMaster="true") as controller, ExitStack() as stack:
        brokers = {}
        for name in ("one", "two"):
            joining = controlled_broker(tmp_path / name, nameserver=pair.addresses, controller=controller)
            process = stack.enter_context(joining)
            brokers[f"127.0.0.1:{process.port}"] = process
            for server in pair:
                wait_until(
                    lambda server=server: set(server.members("b-ctl").values()) == set(brokers),  # type: ignore[misc]
                    f"{server.address}: {name} has joined the group",
                )
        master = pair.first.members("b-ctl")[0]
        (other,) = set(brokers) - {master}
        brokers[master].process.kill()
        took = [
            wait_until(
                lambda server=server: server.route_members("b-ctl", "b-ctl") == {0: other},  # type: ignore[misc]
                f"{server.address}: {other} is master",
            )
            for server in pair
        ]
        record_property("seen", f"after {max(took):.1f} s")
