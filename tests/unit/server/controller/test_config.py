"""The Controller's settings: Java's keys, defaults, black list and peers."""

import pytest

from routebook.errors import SettingsError
from routebook.server.controller.config import MAX_SCAN_S, BlackListed, ControllerConfig
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


def test_invalid_values_are_named_and_the_others_apply() -> None:
    config = ControllerConfig(GIVEN)
    changes = {
        "scanInactiveMasterInterval": "x",
        "electMasterMaxRetryCount": "0",
        "notifyBrokerRoleChanged": "perhaps",
        "enableElectUncleanMaster": " TRUE",
        "unknown": "1",
    }
    changed, remark = config.update(changes)
    assert changed == {"enableElectUncleanMaster": "true"}
    assert config.live.allow_unclean
    assert config.live.notify
    assert remark == (
        "not applied: electMasterMaxRetryCount=0: must be from 1 to 2147483647; "
        "notifyBrokerRoleChanged=perhaps: neither true nor false; scanInactiveMasterInterval=x: not a number"
    )


def test_a_huge_interval_is_bounded() -> None:
    config = ControllerConfig(GIVEN)
    assert config.update({"scanInactiveMasterInterval": str(2**62)})[1] is None
    assert config.live.master_scan_s == MAX_SCAN_S


@pytest.mark.parametrize(
    ("peer", "bind_address", "warns"),
    [
        ("127.0.0.1", "0.0.0.0", True),
        ("localhost", "192.168.1.10", True),
        ("127.0.0.1", "127.0.0.1", False),
        ("192.168.1.10", "0.0.0.0", False),
        ("h0", "0.0.0.0", False),
    ],
)
def test_a_loopback_address_for_brokers_on_other_hosts(peer: str, bind_address: str, warns: bool) -> None:
    config = ControllerConfig({**GIVEN, "controllerDLegerPeers": f"n1-{peer}:9878"})
    assert (config.unreachable_address(bind_address) is not None) == warns
