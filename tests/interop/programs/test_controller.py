"""Brokers in controller mode with a Java controller beside Routebook: the fail-over is seen in the route."""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.programs.conftest import Pair
from tests.interop.programs.seen import wait_until
from tests.support.java import NAMESERVER_FLAGS, JavaProcess, java_broker

pytestmark = [pytest.mark.java, pytest.mark.slow]


@pytest.mark.program("Controller and two brokers", "5.5.0", "the master is killed: the other is in the route as master")
def test_fail_over(pair: Pair, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    controller = JavaProcess(
        "org.apache.rocketmq.controller.ControllerStartup",
        home=tmp_path / "controller",
        properties={
            "controllerDLegerGroup": "g1",
            "controllerDLegerPeers": f"n0-127.0.0.1:{port}",
            "controllerDLegerSelfId": "n0",
            "controllerStorePath": tmp_path / "controller" / "store",
            "mappedFileSize": 1_048_576,
            "enableElectUncleanMaster": "true",
        },
        flags=NAMESERVER_FLAGS,
    )
    with controller, ExitStack() as stack:
        controller.wait_for_line("The Controller Server boot success")
        brokers = {}
        for name in ("one", "two"):
            home = tmp_path / name
            process = stack.enter_context(
                java_broker(
                    home,
                    nameserver=pair.addresses,
                    brokerName="b-ctl",
                    brokerId=-1,
                    enableControllerMode="true",
                    controllerAddr=f"127.0.0.1:{port}",
                    storePathEpochFile=home / "epoch",
                )
            )
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
