"""A restart: routes are there before any broker is, and go if none comes."""

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
    """Until the journal has it: registrations never wait for the disk, so a test does."""
    eventually(lambda: kind in kinds(home), f"{kind} in the journal")


def end(ns: Process, how: signal.Signals) -> None:
    ns.send(how)
    ns.wait()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["in order", "killed"])
def test_routes_are_there_before_any_broker_is_and_the_broker_goes_on(tmp_path: Path, how: signal.Signals) -> None:
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
        assert (asked.ext, asked.body) == ({"changed": "true"}, VERSION)  # it is to register
        assert client.ask(register()).code == 0
        assert client.ask(Request(code=322, ext=WHO, body=VERSION)).ext == {"changed": "false"}
        client.close()
        with Client(ns.address) as other:
            eventually(lambda: other.ask(route("TopicTest")).code == 17, "the broker's connection stands for it")
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


def test_a_broker_that_does_not_come_back_is_gone_after_its_lease(tmp_path: Path) -> None:
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


def test_a_heartbeat_keeps_the_routes_of_a_broker_that_has_not_registered_yet(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(register(timeout_ms=60_000)).code == 0
        assert client.ask(register(broker="broker-b", addr="127.0.0.2:10911", timeout_ms=60_000)).code == 0
        assert ns.stop() == 0
    settings = {"routebook.recoveredLeaseSeconds": 3, "scanNotActiveBrokerInterval": 100}
    with serving(tmp_path, settings=settings) as ns, Client(ns.address) as client:
        assert client.ask(Request(code=904, ext=WHO)).code == 0
        eventually(lambda: b"broker-b" not in client.ask(route("TopicTest")).body, "broker-b to expire")
        assert b"broker-a" in client.ask(route("TopicTest")).body


def test_cold_begins_empty_and_what_was_before_never_comes_back(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        assert ns.stop() == 0
    with serving(tmp_path, "--cold") as ns, Client(ns.address) as client:
        assert client.ask(route("TopicTest")).code == 17
        assert client.ask(register(broker="new", topics=("New", "Newer"))).code == 0
        on_disk(tmp_path, "topics_changed")
        eventually(lambda: kinds(tmp_path).count("topics_changed") == 2, "both registrations")
        ns.kill()  # without a snapshot: the next start has to find out from the journal
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(route("TopicTest")).code == 17
        assert client.ask(route("New")).code == 0
        assert ns.stop() == 0
    assert [(started.recovered, started.cold) for started in events(tmp_path, ServerStarted)] == [
        (0, False),
        (0, True),
        (1, False),
    ]


def test_without_a_journal_nothing_is_remembered(tmp_path: Path) -> None:
    off = {"routebook.journal.enabled": False}
    with serving(tmp_path, settings=off) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        assert client.ask(Request(code=205, ext={"brokerName": "broker-a"})).ext == {"wipeTopicCount": "2"}
        assert ns.stop() == 0
    assert not (tmp_path / "journal").exists()
    assert not (tmp_path / "snapshot").exists()
    with serving(tmp_path, settings=off) as ns, Client(ns.address) as client:
        assert client.ask(route("TopicTest")).code == 17


def test_wiped_permissions_outlive_a_restart_and_the_return_of_the_broker(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        assert client.ask(Request(code=205, ext={"brokerName": "broker-a"})).ext == {"wipeTopicCount": "2"}
        ns.kill()
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert b'"perm":4' in client.ask(route("TopicTest")).body
        assert client.ask(register()).code == 0
        assert b'"perm":4' in client.ask(route("TopicTest")).body


def test_a_second_start_in_a_row_knows_the_same(tmp_path: Path) -> None:
    with serving(tmp_path) as ns, Client(ns.address) as client:
        assert client.ask(register()).code == 0
        assert ns.stop() == 0
    for _ in range(3):
        with serving(tmp_path) as ns, Client(ns.address) as client:
            assert client.ask(route("TopicTest")).code == 0
            assert ns.stop() == 0
