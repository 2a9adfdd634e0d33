"""Warm start: recovered routes are served at once and expire unless their brokers return."""

import signal
from pathlib import Path

import pytest

from routebook.events import BrokerDown, BrokerReturned, DownReason, ServerStarted
from tests.support.journals import events, kinds, last_seq
from tests.support.process import Process, serving
from tests.support.remoting import Client, eventually, register, route
from tests.support.remoting_frames import Request

VERSION = b'{"counter":1,"stateVersion":0,"timestamp":1700000000000}'
WHO = {"clusterName": "c1", "brokerName": "broker-a", "brokerAddr": "127.0.0.1:10911", "brokerId": "0"}


def on_disk(home: Path, kind: str) -> None:
    """Wait until the journal has an event of this kind; registrations do not wait for the disk."""
    eventually(lambda: kind in kinds(home), f"{kind} in the journal")


def end(ns: Process, how: signal.Signals) -> None:
    ns.send(how)
    ns.wait()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_routes_are_served_before_their_broker_returns(tmp_path: Path, how: signal.Signals) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        before = client.ask(route("TopicTest"))
        on_disk(tmp_path, "topics_changed")
        end(ns, how)
    stopped_at = last_seq(tmp_path)
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(route("TopicTest")).body == before.body
        assert "recovered=1" in ns.log
        asked = client.ask(Request(code=322, ext=WHO, body=VERSION))
        assert (asked.ext, asked.body) == ({"changed": "true"}, VERSION)  # asks the broker to register
        assert client.ask(register()).code == 0
        assert client.ask(Request(code=322, ext=WHO, body=VERSION)).ext == {"changed": "false"}
        client.close()
        with Client(ns.address) as other:
            eventually(lambda: other.ask(route("TopicTest")).code == 17, "the broker to be removed with its connection")
        assert ns.stop() == 0
    assert kinds(tmp_path, after=stopped_at) == [
        "server_started",
        "broker_returned",
        "broker_down",
        "topics_changed",
        "server_stopped",
    ]
    assert [started.recovered for started in events(tmp_path, ServerStarted)] == [0, 1]
    assert [down.reason for down in events(tmp_path, BrokerDown)] == [DownReason.CLOSED]


def test_a_recovered_broker_expires_after_its_lease(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        assert client.ask(register(broker="broker-b", addr="127.0.0.2:10911")).code == 0
        assert ns.stop() == 0
    settings = {"routebook.recoveredLeaseSeconds": 3, "scanNotActiveBrokerInterval": 100}
    with serving(tmp_path, settings=settings) as ns, Client(ns.address) as client:
        assert b"broker-b" in client.ask(route("TopicTest")).body
        assert client.ask(register()).code == 0
        eventually(lambda: b"broker-b" not in client.ask(route("TopicTest")).body, "broker-b to expire")
        assert b"broker-a" in client.ask(route("TopicTest")).body
        assert ns.stop() == 0
    (down,) = events(tmp_path, BrokerDown)
    assert (down.broker, down.reason) == ("broker-b", DownReason.EXPIRED)
    assert [back.broker for back in events(tmp_path, BrokerReturned)] == ["broker-a"]


def test_a_heartbeat_extends_the_lease_of_a_recovered_broker(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(register(timeout_ms=60_000)).code == 0
        assert client.ask(register(broker="broker-b", addr="127.0.0.2:10911", timeout_ms=60_000)).code == 0
        assert ns.stop() == 0
    settings = {"routebook.recoveredLeaseSeconds": 3, "scanNotActiveBrokerInterval": 100}
    with serving(tmp_path, settings=settings) as ns, Client(ns.address) as client:
        assert client.ask(Request(code=904, ext=WHO)).code == 0
        eventually(lambda: b"broker-b" not in client.ask(route("TopicTest")).body, "broker-b to expire")
        assert b"broker-a" in client.ask(route("TopicTest")).body


def test_a_cold_start_is_empty_and_discards_earlier_routes_for_good(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        assert ns.stop() == 0
    with serving(tmp_path, "--cold") as ns, Client(ns.address) as client:
        assert client.ask(route("TopicTest")).code == 17
        assert client.ask(register(broker="new", topics=("New", "Newer"))).code == 0
        on_disk(tmp_path, "topics_changed")
        eventually(lambda: kinds(tmp_path).count("topics_changed") == 2, "both registrations")
        ns.kill()  # without a snapshot: the next start reads the journal
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(route("TopicTest")).code == 17
        assert client.ask(route("New")).code == 0
        assert ns.stop() == 0
    assert [(started.recovered, started.cold) for started in events(tmp_path, ServerStarted)] == [
        (0, False),
        (0, True),
        (1, False),
    ]


def test_without_a_journal_nothing_is_stored(tmp_path: Path) -> None:
    off = {"routebook.journal.enabled": False}
    with serving(tmp_path, settings=off) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        assert client.ask(Request(code=205, ext={"brokerName": "broker-a"})).ext == {"wipeTopicCount": "2"}
        assert ns.stop() == 0
    assert not (tmp_path / "journal").exists()
    assert not (tmp_path / "snapshot").exists()
    with serving(tmp_path, settings=off) as ns, Client(ns.address) as client:
        assert client.ask(route("TopicTest")).code == 17


def test_wiped_permissions_survive_a_restart_and_the_return_of_the_broker(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        assert client.ask(Request(code=205, ext={"brokerName": "broker-a"})).ext == {"wipeTopicCount": "2"}
        ns.kill()
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert b'"perm":4' in client.ask(route("TopicTest")).body
        assert client.ask(register()).code == 0
        assert b'"perm":4' in client.ask(route("TopicTest")).body


def test_repeated_restarts_recover_the_same_routes(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        assert ns.stop() == 0
    for _ in range(3):
        with serving(tmp_path) as ns, Client(ns.address) as client:
            assert client.ask(route("TopicTest")).code == 0
            assert ns.stop() == 0
