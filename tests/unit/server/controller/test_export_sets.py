"""The export of broker sets into a Java controller; Routebook's refuses it."""

import asyncio
from pathlib import Path

import pytest

from routebook.client.client import NameServerClient
from routebook.controller.state import BrokerSet, Replica
from routebook.errors import StartError
from routebook.server.controller.export_sets import replay
from tests.support.controllers import ControllerProbe, java_controller, routebook_controller

WANTED = BrokerSet(
    cluster="C1",
    name="b-a",
    replicas={number: Replica(f"127.0.0.1:{number}", "x;7") for number in (1, 3, 4)},
    retired=frozenset({2}),
    master_id=3,
    master_epoch=12,
    sync_state_set=(1, 3),
    sync_state_epoch=15,
)


def export(address: str) -> None:
    asyncio.run(replay(lambda: NameServerClient(address), [WANTED]))


@pytest.mark.java
@pytest.mark.slow
def test_a_java_controller_has_the_set_also_after_the_heartbeats_of_the_export(tmp_path: Path) -> None:
    with java_controller(tmp_path) as address:
        export(address)
        probe = ControllerProbe(address)
        state = probe.state("b-a")
        assert state is not None
        assert state.master == "127.0.0.1:3"
        assert state.master_epoch >= WANTED.master_epoch
        assert state.in_sync == {1: "127.0.0.1:1", 3: "127.0.0.1:3"}
        assert state.others == {4: "127.0.0.1:4"}
        assert probe.ask(1012, clusterName="C1", brokerName="b-a").ext["nextBrokerId"] == "5"
        config = probe.ask(1010).body.decode()
        assert "electMasterMaxRetryCount=3\n" in config
        assert "notifyBrokerRoleChanged=true\n" in config
        with pytest.raises(StartError, match="b-a exists already in the target"):
            export(address)


def test_routebook_refuses_it(tmp_path: Path) -> None:
    with routebook_controller(tmp_path) as address:
        with pytest.raises(StartError, match="use `routebook controller import` there"):
            export(address)
        assert b"notifyBrokerRoleChanged=true" in ControllerProbe(address).ask(1010).body
