"""What a Controller node needs to start."""

from pathlib import Path

import pytest

from routebook.errors import SettingsError
from routebook.server.controller.etcd_log import EtcdLog
from routebook.server.controller.node import ControllerNode
from routebook.server.controller.sqlite_log import SqliteLog
from routebook.settings import Settings, from_values

ONE = {
    "controllerDLegerGroup": "g1",
    "controllerDLegerPeers": "n0-127.0.0.1:9878",
    "controllerDLegerSelfId": "n0",
}
THREE = {**ONE, "controllerDLegerPeers": "n0-h0:9878;n1-h1:9878;n2-h2:9878"}
ETCD = {"routebook.controller.engine": "etcd"}


def node(tmp_path: Path, values: dict[str, str]) -> ControllerNode:
    return ControllerNode.open(Settings.build([from_values(values)], home=str(tmp_path), is_controller=True))


def test_one_node_uses_sqlite_and_several_use_etcd(tmp_path: Path) -> None:
    assert isinstance(node(tmp_path, ONE).log, SqliteLog)
    endpoints = {"routebook.controller.etcdEndpoints": "http://h0:2379, http://h1:2379"}
    assert isinstance(node(tmp_path, {**THREE, **ETCD, **endpoints}).log, EtcdLog)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "Attribute value controllerDLegerGroup of ControllerConfig is null or empty"),
        ({**ONE, "controllerDLegerPeers": ""}, "Attribute value controllerDLegerPeers of ControllerConfig is null or"),
        ({**ONE, "controllerDLegerSelfId": ""}, "Attribute value controllerDLegerSelfId of ControllerConfig is null"),
        (THREE, "controllerDLegerPeers has 3 nodes, which need a replicated log"),
        ({**THREE, **ETCD}, "routebook.controller.engine=etcd needs routebook.controller.etcdEndpoints"),
        ({**ONE, "controllerType": "jRaft"}, "controllerType=jRaft: only DLedger is supported"),
    ],
)
def test_an_incomplete_configuration_stops_the_start(tmp_path: Path, values: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        node(tmp_path, values)
