"""Live updates of a real server over real WebSockets."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.support.live_console import live_console
from tests.support.process import Process, serving
from tests.support.remoting import Client, put_kv, register


@pytest.fixture
def ns(tmp_path: Path) -> Iterator[Process]:
    with serving(tmp_path, http="127.0.0.1:0", settings={"routebook.journal.commitMillis": 0}) as process:
        yield process


def test_the_first_messages_are_hello_and_snapshot(ns: Process) -> None:
    url = ns.wait_until_http()
    with Client(ns.address) as broker:
        broker.ask(register(broker="a", addr="10.0.0.1:1", topics=["t", "u"]))
        with live_console(url) as console:
            server = httpx.get(f"{url}/v1/server").json()
            assert (console.hello["ns"], console.hello["boot"]) == (server["ns"], server["boot"])
            (row,) = console.brokers.values()
            assert (row["name"], row["id"], row["addr"], row["cluster"]) == ("a", 0, "10.0.0.1:1", "c1")
            assert (row["role"], row["state"], row["version"], row["topics"]) == ("master", "up", "5.5.0", 2)
            overview = console.overview
            assert (overview["topics"], overview["clusters"], overview["masters_missing"]) == (2, 1, [])
            assert overview["brokers"] == {"up": 1, "recovered": 0, "suspected": 0, "down": 0}
            assert overview["condition"] == "ok"


def test_a_broker_that_starts_and_stops_is_pushed_to_the_console(ns: Process) -> None:
    with live_console(ns.wait_until_http()) as console:
        with Client(ns.address) as broker:
            broker.ask(register(broker="a", addr="10.0.0.1:1"))
            assert console.until(lambda: console.states() == {"a 10.0.0.1:1": "up"}) < 2
            console.until(lambda: console.overview["brokers"]["up"] == 1)
        assert console.until(lambda: console.states() == {"a 10.0.0.1:1": "down"}) < 2
        (row,) = console.brokers.values()
        assert row["reason"] == "closed"
        assert row["down_at_ms"] > 0
        console.until(lambda: console.overview["brokers"]["down"] == 1)
        assert console.overview["masters_missing"] == ["a"]
        with Client(ns.address) as broker:
            broker.ask(register(broker="a", addr="10.0.0.1:1"))
            console.until(lambda: console.states() == {"a 10.0.0.1:1": "up"})
            console.until(lambda: console.overview["masters_missing"] == [])
        kinds = [event["kind"] for event in console.events]
        assert kinds[:2] == ["broker_up", "topics_changed"]
        assert "broker_down" in kinds
        assert [event["seq"] for event in console.events] == sorted({event["seq"] for event in console.events})


def test_a_silent_broker_is_suspected_and_heartbeats_are_sent(ns: Process) -> None:
    with live_console(ns.wait_until_http()) as console, Client(ns.address) as broker:
        broker.ask(register(broker="a", addr="10.0.0.1:1", timeout_ms=6000))
        console.until(lambda: console.states() == {"a 10.0.0.1:1": "up"})
        seen = console.brokers["a#0"]["last_seen_ms"]
        console.until(lambda: console.states() == {"a 10.0.0.1:1": "suspected"})
        broker.ask(register(broker="a", addr="10.0.0.1:1", timeout_ms=6000))
        console.until(lambda: console.states() == {"a 10.0.0.1:1": "up"})
        assert console.brokers["a#0"]["last_seen_ms"] > seen


def test_events_are_selected(ns: Process) -> None:
    url = ns.wait_until_http()
    with live_console(url) as all_of_them, live_console(url) as some, live_console(url) as none:
        some.say({"type": "watch", "kinds": ["kv_changed"]})
        none.say({"type": "watch", "off": True})
        some.ping()  # the server has read the messages before
        none.ping()
        with Client(ns.address) as broker:
            broker.ask(register(broker="a", addr="10.0.0.1:1"))
            broker.ask(put_kv("k", "v"))
            all_of_them.until(lambda: len(all_of_them.events) >= 3)
            some.until(lambda: bool(some.events))
            none.until(lambda: none.overview["topics"] == 2)
        assert [event["kind"] for event in some.events] == ["kv_changed"]
        assert some.events[0]["fields"]["after"] == "v"
        assert some.events[0]["peer"].startswith("127.0.0.1:")
        assert none.events == []


def test_a_reconnecting_console_gets_missed_events(ns: Process) -> None:
    url = ns.wait_until_http()
    with live_console(url) as console:
        seq = console.hello["seq"]
    with Client(ns.address) as broker:
        for number in range(3):
            broker.ask(put_kv(f"k{number}", "v"))
    with live_console(url, query=f"?after={seq}") as console:
        console.until(lambda: len(console.events) == 3)
        assert [event["fields"]["key"] for event in console.events] == ["k0", "k1", "k2"]
    with Client(ns.address) as broker:
        for number in range(600):
            broker.ask(put_kv("again", str(number)))
    with live_console(url, query=f"?after={seq}") as console:
        console.until(lambda: len(console.events) >= 500)
        (missed,) = [message for message in console.others if message["type"] == "missed"]
        assert missed["first"] == seq + 1
        assert console.events[0]["seq"] == missed["last"] + 1


def test_a_restart_is_announced_and_history_remains(ns: Process, tmp_path: Path) -> None:
    url = ns.wait_until_http()
    with live_console(url) as console:
        with Client(ns.address) as broker:
            broker.ask(register(broker="a", addr="10.0.0.1:1"))
            console.until(lambda: bool(console.brokers))
        console.until(lambda: console.states() == {"a 10.0.0.1:1": "down"})
        boot = console.hello["boot"]
        ns.send(signal.SIGTERM)
        assert console.until_closed()[0] == 1012
        assert console.others[-1]["type"] == "stopping"
        resume = console.others[-1]["resume_after"]
    ns.wait()
    with (
        serving(tmp_path, http="127.0.0.1:0") as again,
        live_console(again.wait_until_http(), query=f"?after={resume}") as console,
    ):
        assert console.hello["boot"] != boot
        console.until(lambda: console.states() == {"a 10.0.0.1:1": "down"})  # history tells
        console.until(lambda: any(event["kind"] == "server_started" for event in console.events))


def test_pages_of_other_sites_are_rejected(ns: Process) -> None:
    url = ns.wait_until_http()
    address = url.removeprefix("http://")
    for origin in ("http://evil.example", "null", f"http://{address}.evil.example"):
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://{address}/v1/live", origin=Origin(origin))
        assert refused.value.response.status_code == 403
    with pytest.raises(InvalidStatus):
        connect(f"ws://{address}/v1/live", additional_headers={"host": "evil.example"})
    with pytest.raises(InvalidStatus):
        connect(f"ws://{address}/v1/other")
    with live_console(url, origin=url) as console:
        assert console.hello


@pytest.mark.parametrize(
    "nonsense", ["", "{", "[]", '{"type":"other"}', json.dumps({"type": "watch", "kinds": ["x"] * 101})]
)
def test_an_invalid_message_closes_the_connection(ns: Process, nonsense: str) -> None:
    with live_console(ns.wait_until_http()) as console:
        console.say_text(nonsense)
        assert console.until_closed()[0] == 4400


def test_the_number_of_consoles_is_limited(tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0", settings={"routebook.http.watchers": 1}) as ns:
        url = ns.wait_until_http()
        with live_console(url), connect(f"ws://{url.removeprefix('http://')}/v1/live") as second:
            with pytest.raises(ConnectionClosed) as closed:
                second.recv(timeout=10)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4429


def test_events_are_shortened(ns: Process) -> None:
    with live_console(ns.wait_until_http()) as console, Client(ns.address) as broker:
        broker.ask(register(broker="a", addr="10.0.0.1:1", topics=[f"t{number:05}" for number in range(5000)]))
        found: list[dict[str, Any]] = []

        def is_there() -> bool:
            found[:] = [event for event in console.events if event["kind"] == "topics_changed"]
            return bool(found)

        console.until(is_there)
        assert found[0]["counts"] == {"added": 5000, "changed": 0, "removed": 0}
        assert len(found[0]["topics"]) == 20
        assert len(json.dumps(found[0])) < 2000
