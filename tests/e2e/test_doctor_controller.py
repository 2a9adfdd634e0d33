"""`routebook doctor` finds the Controller in the settings of a NameServer, and checks its sets."""

import json
from pathlib import Path

from tests.support.command_line import routebook
from tests.support.controllers import routebook_nameserver_with_controller
from tests.support.remoting import register
from tests.support.remoting_frames import Link, Request


def test_a_set_without_master_is_reported(tmp_path: Path) -> None:
    with routebook_nameserver_with_controller(tmp_path) as (nameserver, controller):
        host, _, port = nameserver.rpartition(":")
        with Link((host, int(port))) as link:
            assert link.ask(register(broker="b-a", addr="127.0.0.1:1", topics=["t", "u"])).code == 0
            host, _, port = controller.rpartition(":")
            with Link((host, int(port))) as other:
                ext = {"clusterName": "C", "brokerName": "b-a", "appliedBrokerId": "1", "registerCheckCode": "x:1;7"}
                assert other.ask(Request(code=1013, ext=ext)).code == 0
            found = json.loads(routebook("doctor", "-n", nameserver, "--json").out)
    assert found["looked_at"]["controllers"] == 1
    texts = [finding["text"] for finding in found["findings"] if finding["check"] in ("controller", "sync")]
    assert texts == ["broker set b-a has no master", "broker set b-a: no heartbeat from id 1 at x:1"]
