"""A Controller in the test process: serves the protocol, shows its state, and keeps it over a restart."""

from pathlib import Path

import pytest

from routebook.testing import LocalController
from tests.support.remoting_frames import Link, Request

NAMES = {"clusterName": "C", "brokerName": "b-a"}


def ask(controller: LocalController, code: int, **ext: str) -> int:
    with Link((controller.host, controller.port)) as link:
        return link.ask(Request(code=code, ext={**NAMES, **ext})).code


def test_brokers_get_ids_and_a_master(controller: LocalController) -> None:
    assert controller.sets() == {}
    assert ask(controller, 1013, appliedBrokerId="1", registerCheckCode="10.0.0.1:1;7") == 0
    assert ask(controller, 1002, brokerId="1") == 0
    assert controller.master("b-a") == "10.0.0.1:1"
    address = controller.address
    controller.restart()
    assert controller.address == address
    assert controller.master("b-a") == "10.0.0.1:1"
    assert controller.master("b-b") is None


def test_a_stopped_controller_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not running"):
        LocalController(tmp_path).sets()
