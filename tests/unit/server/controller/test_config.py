"""The Controller's settings: Java's keys, defaults, black list and peers."""

import pytest

from routebook.errors import RequestError, SettingsError
from routebook.server.controller.config import BlackListed, ControllerConfig
from routebook.server.controller.log import Node

GIVEN = {
    "controllerDLegerGroup": "g1",
    "controllerDLegerPeers": "n0-127.0.0.1:23510;n1-127.0.0.1:23520",
    "controllerDLegerSelfId": "n1",
}


def test_peers_and_own_entry() -> None:
    config = ControllerConfig(GIVEN)
    assert config.node == Node("n1", "127.0.0.1:23520")
    assert config.metadata(Node("n0", "127.0.0.1:23510"), is_leader=False) == {
        "controllerLeaderId": "n0",
        "controllerLeaderAddress": "127.0.0.1:23510",
        "isLeader": "false",
        "peers": "n0:127.0.0.1:23510;n1:127.0.0.1:23520;",
        "group": "g1",
    }


@pytest.mark.parametrize("key", ["controllerDLegerGroup", "controllerDLegerPeers", "controllerDLegerSelfId"])
def test_missing_keys_stop_the_start_with_javas_sentence(key: str) -> None:
    with pytest.raises(SettingsError, match=f"Attribute value {key} of ControllerConfig is null or empty"):
        ControllerConfig({**GIVEN, key: ""})


@pytest.mark.parametrize("peers", ["n1", "n1-host", "n1-host:x", "-h:1", "n0-h:1"])
def test_invalid_peers_stop_the_start(peers: str) -> None:
    with pytest.raises(SettingsError, match="controllerDLeger"):
        ControllerConfig({**GIVEN, "controllerDLegerPeers": peers})


def test_live_settings_change_at_once() -> None:
    config = ControllerConfig(GIVEN)
    config.update({"enableElectUncleanMaster": "true", "noSuchKey": "1"})
    assert config.live.allow_unclean
    assert "noSuchKey" not in config.text()
    assert "enableElectUncleanMaster=true\n" in config.text()


@pytest.mark.parametrize("key", ["configStorePath", "configBlackList", "rocketmqHome", "mappedFileSize"])
def test_black_listed_keys_are_rejected_as_a_whole(key: str) -> None:
    config = ControllerConfig({**GIVEN, "configBlackList": "configStorePath;mappedFileSize"})
    with pytest.raises(BlackListed, match="black list"):
        config.update({"enableElectUncleanMaster": "true", key: "x"})
    assert not config.live.allow_unclean


def test_an_invalid_value_changes_nothing() -> None:
    config = ControllerConfig(GIVEN)
    with pytest.raises(RequestError, match="scanInactiveMasterInterval"):
        config.update({"scanInactiveMasterInterval": "x", "enableElectUncleanMaster": "true"})
    assert not config.live.allow_unclean
