"""HTTP endpoints that the console reads, on a real server."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from routebook.testing import LocalNameServer
from tests.support.process import Process, serving
from tests.support.remoting import Client, eventually, put_kv, register, route
from tests.support.remoting_frames import Request


@pytest.fixture
def ns(tmp_path: Path) -> Iterator[Process]:
    with serving(tmp_path, http="127.0.0.1:0", settings={"routebook.journal.commitMillis": 0}) as process:
        yield process


def got(url: str, path: str, **query: object) -> Any:
    answer = httpx.get(url + path, params={name: str(value) for name, value in query.items()})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_search_returns_the_best_matches_first(ns: Process) -> None:
    url = ns.wait_until_http()
    topics = ["order", "Orders-paid", "reorder", "payment", "%RETRY%orders", "a/b order"]
    with Client(ns.address) as broker:
        broker.ask(register(topics=topics))
        found = got(url, "/v1/search/topics", q="ORDER")
        assert [one["name"] for one in found["topics"][:4]] == ["order", "a/b order", "reorder", "Orders-paid"]
        assert (found["matches"], found["total"]) == (5, 6)
        assert {one["name"] for one in found["topics"]} == set(topics) - {"payment"}
        assert len(got(url, "/v1/search/topics", q="order", limit=2)["topics"]) == 2
        assert got(url, "/v1/search/topics", q="")["matches"] == 6
        assert got(url, "/v1/search/topics", q="nothing")["topics"] == []


def test_impact_of_losing_a_broker(ns: Process) -> None:
    url = ns.wait_until_http()
    with Client(ns.address) as client:
        client.ask(register(broker="a", addr="10.0.0.1:1", topics=["mine", "ours", "also ours"]))
        client.ask(register(broker="b", addr="10.0.0.2:1", topics=["ours", "also ours"]))
        lost = got(url, "/v1/brokers/a/loss")
        assert (lost["topics"], lost["only_here"]) == (3, {"total": 1, "names": ["mine"]})
        assert lost["writes_only_here"] == {"total": 0, "names": []}
        assert (lost["write_queues"], lost["members"], lost["has_other_members"]) == (12, 1, False)
        client.ask(Request(code=205, opaque=1, ext={"brokerName": "b"}))
        assert got(url, "/v1/brokers/a/loss")["writes_only_here"] == {"total": 2, "names": ["also ours", "ours"]}
        assert httpx.get(f"{url}/v1/brokers/none/loss").status_code == 404


def test_sessions_with_their_reasons(ns: Process) -> None:
    url = ns.wait_until_http()
    for _ in range(2):
        with Client(ns.address) as broker:
            broker.ask(register(broker="a", addr="10.0.0.1:1"))
        eventually(lambda: httpx.get(f"{url}/v1/brokers/a").status_code == 404, "the broker leaves")
    with Client(ns.address) as broker:
        broker.ask(register(broker="a", addr="10.0.0.1:1"))

        def sessions() -> list[dict[str, Any]]:
            answer = httpx.get(f"{url}/v1/brokers/a/sessions")
            found: list[dict[str, Any]] = answer.json()["members"][0]["sessions"] if answer.status_code == 200 else []
            return found

        eventually(lambda: len(sessions()) == 3, "history has them")
        answer = got(url, "/v1/brokers/a/sessions", days=1)
        (member,) = answer["members"]
        assert (member["broker_id"], member["addr"]) == (0, "10.0.0.1:1")
        first, second, third = member["sessions"]
        assert (first["began"], first["ended"], first["planned"]) == ("broker_up", "closed", False)
        assert first["from_ms"] <= first["to_ms"] <= second["from_ms"]
        assert (third["to_ms"], third["ended"]) == (None, None)
        assert member["days"][-1]["outages"] == 2
        assert 0 < member["days"][-1]["up_ms"] <= member["days"][-1]["observed_ms"]
        (run,) = answer["nameserver"]
        assert (run["to_ms"], run["ended"]) == (None, None)
        assert httpx.get(f"{url}/v1/brokers/never/sessions").status_code == 404


def test_activity_of_the_last_day(ns: Process) -> None:
    url = ns.wait_until_http()
    with Client(ns.address) as broker:
        broker.ask(register(broker="a", addr="10.0.0.1:1"))
        broker.ask(register(broker="b", addr="10.0.0.2:1"))
        eventually(lambda: got(url, "/v1/strip")["points"][-1]["brokers"] == 2, "history has them")
        strip = got(url, "/v1/strip", hours=24, steps=24)
        assert len(strip["points"]) == 24
        assert strip["step_ms"] == 3_600_000
        assert [point["brokers"] for point in strip["points"][:-1]] == [None] * 23
        last = strip["points"][-1]
        assert (last["ups"], last["downs"], last["observed"]) == (2, 0, True)
    eventually(lambda: got(url, "/v1/strip", steps=24)["points"][-1]["downs"] == 2, "both are gone")


def test_demand_and_no_route_look_ups(ns: Process) -> None:
    url = ns.wait_until_http()
    with Client(ns.address) as client:
        client.ask(register(topics=["t", "u"]))
        for _ in range(3):
            client.ask(route("t"))
        client.ask(route("typo"))
        demand = got(url, "/v1/topics/t/demand")
        assert (demand["lookups"], demand["misses"]) == (3, 0)
        (asker,) = demand["clients"]
        assert (asker["client"], asker["lookups"], asker["version"]) == ("127.0.0.1", 3, "5.5.0")
        assert demand["bytes"] > 0
        (missed,) = got(url, "/v1/misses")["topics"]
        assert (missed["topic"], missed["misses"], missed["clients"], missed["exists"]) == ("typo", 1, 1, False)


def test_records_are_newest_first(ns: Process) -> None:
    url = ns.wait_until_http()
    with Client(ns.address) as client:
        client.ask(register(broker="a", addr="10.0.0.1:1", topics=["t", "u"]))
        for number in range(10):
            client.ask(put_kv(f"k{number}", "v"))
        page = got(url, "/v1/records", limit=4)
        assert [one["fields"]["key"] for one in page["records"]] == ["k9", "k8", "k7", "k6"]
        assert page["more"]
        older = got(url, "/v1/records", limit=4, before=page["scanned_to"])
        assert [one["fields"]["key"] for one in older["records"]] == ["k5", "k4", "k3", "k2"]
        assert got(url, "/v1/records", after=page["records"][1]["seq"])["records"] == page["records"][:1]
        then = page["records"][2]["at"]
        assert got(url, "/v1/records", at=then)["records"][0]["at"] <= then
        about = got(url, "/v1/records", topic="t")
        assert [one["kind"] for one in about["records"]] == ["topics_changed"]
        assert not about["more"]
        assert [one["kind"] for one in got(url, "/v1/records", broker="a")["records"]] == [
            "topics_changed",
            "broker_up",
        ]
        assert httpx.get(f"{url}/v1/records", params={"kind": "broker_dwon"}).status_code == 400


def test_heartbeats_per_minute(ns: Process) -> None:
    beats = got(ns.wait_until_http(), "/v1/brokers/a/beats")
    assert (beats["broker"], beats["members"]) == ("a", [])
    assert beats["since_ms"] <= time.time() * 1000 + 1000


def test_settings_without_secrets(ns: Process) -> None:
    settings = {one["key"]: one for one in got(ns.wait_until_http(), "/v1/settings")["settings"]}
    assert settings["orderMessageEnable"]["changes"] == "at run time"
    assert settings["routebook.journal.commitMillis"]["origin"] == "-D"
    secrets = [
        key for key in settings if "password" in key.lower() and not key.endswith("File")
    ]  # a path is not a secret
    assert secrets == []


def test_another_nameserver_is_compared(ns: Process) -> None:
    url = ns.wait_until_http()
    with LocalNameServer() as other, Client(ns.address) as here, Client(("127.0.0.1", other.port)) as there:
        for client in (here, there):
            client.ask(register(broker="both", addr="10.0.0.1:1", topics=["t", "u"]))
        same = httpx.post(f"{url}/v1/compare", json={"address": other.address}, timeout=30).json()
        assert (same["agree"], same["complete"], same["compared"]) == (True, True, {"brokers": 1, "topics": 2})
        here.ask(register(broker="here", addr="10.0.0.2:1", topics=["t", "u"]))
        answer = httpx.post(f"{url}/v1/compare", json={"address": other.address}, timeout=30).json()
        assert not answer["agree"]
        (missing,) = [one for one in answer["differences"] if one["kind"] == "broker"]
        assert (missing["subject"], missing["values"]) == ("here", {"here": "0=10.0.0.2:1", other.address: None})
        assert sorted(missing["topics"]) == ["t", "u"]


def test_comparison_is_restricted(ns: Process, tmp_path: Path) -> None:
    url = ns.wait_until_http()
    assert httpx.get(f"{url}/v1/compare").json()["allowed"] == "any"

    def refused(body: object, status: int, **headers: str) -> None:
        answer = httpx.post(f"{url}/v1/compare", json=body, headers=headers, timeout=30)
        assert answer.status_code == status, answer.text

    refused({"address": "10.0.0.1:port"}, 400)
    refused({}, 400)
    refused({"address": "127.0.0.1:1"}, 502)
    refused({"address": url.removeprefix("http://")}, 502)  # it speaks HTTP
    refused({"address": "127.0.0.1:1"}, 403, origin="http://evil.example")
    settings = {"routebook.console.compare": "peers", "routebook.peers": "127.0.0.1:2"}
    with serving(tmp_path / "strict", http="127.0.0.1:0", settings=settings) as strict:
        url = strict.wait_until_http()
        assert httpx.get(f"{url}/v1/compare").json()["allowed"] == "peers"
        refused({"address": "127.0.0.1:1"}, 403)
        refused({"address": "127.0.0.1:2"}, 502)
    with serving(tmp_path / "public", http="0.0.0.0:0") as public:
        url = public.wait_until_http().replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/v1/compare").json()["allowed"] == "peers"
        refused({"address": "127.0.0.1:1"}, 403)


def test_without_a_lake(ns: Process) -> None:
    answer = httpx.get(f"{ns.wait_until_http()}/v1/reports", timeout=60)
    assert answer.status_code == 404
    assert answer.json()["code"] in ("no-lake", "lake-extra-missing")
    assert answer.json()["command"].startswith(("routebook lake build", "pip install"))


def test_without_a_journal(tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0", settings={"routebook.journal.enabled": False}) as ns:
        url = ns.wait_until_http()
        assert got(url, "/v1/overview")["journal"] is None
        for path in ("/v1/strip", "/v1/records", "/v1/brokers/a/sessions"):
            assert httpx.get(url + path).status_code == 503, path
