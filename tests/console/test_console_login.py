"""Console login: cookies, CSRF, wrong passwords, admin changes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from routebook.client.client import NameServerClient
from routebook.client.requests import Request
from routebook.client.signing import Credentials
from routebook.codes import RequestCode
from tests.support.asynchronous import asynchronous
from tests.support.identities import ADMIN, BROKER, LIMITED, READER, write_identities
from tests.support.live_console import live_console
from tests.support.process import Process, serving
from tests.support.remoting import register


@pytest.fixture
def ns(tmp_path: Path) -> Iterator[Process]:
    settings = {"routebook.auth.file": write_identities(tmp_path), "routebook.journal.commitMillis": 0}
    with serving(tmp_path / "home", http="127.0.0.1:0", settings=settings) as process:
        yield process


@contextmanager
def browser(url: str, who: tuple[str, str] | None = None) -> Iterator[httpx.Client]:
    """Sends requests as a page of the server does, logged in if `who` is given."""
    with httpx.Client(base_url=url, headers={"origin": url, "sec-fetch-site": "same-origin"}) as client:
        if who is not None:
            answer = client.post("/v1/session", json={"access_key": who[0], "secret_key": who[1]})
            assert answer.status_code == 200, answer.text
            client.headers["x-routebook-csrf"] = answer.json()["csrf"]
        yield client


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert (answer.status_code, answer.json().get("code")) == (status, code), answer.text
    problem: dict[str, Any] = answer.json()
    return problem


def test_a_session_begins_and_ends(ns: Process) -> None:
    url = ns.wait_until_http()
    with browser(url) as client:
        nobody = client.get("/v1/session").json()
        assert (nobody["authentication"], nobody["who"], nobody["admin"], nobody["csrf"]) == (True, None, False, None)
        answer = client.post("/v1/session", json={"access_key": ADMIN[0], "secret_key": ADMIN[1]})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("routebook-session=")
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        assert "Secure" not in cookie
        said = answer.json()
        assert (said["who"], said["admin"]) == ("root", True)
        assert said["expires_at_ms"] > time.time() * 1000
        assert client.get("/v1/session").json() == said
        assert client.get("/v1/records").status_code == 200
        refused(client.delete("/v1/session"), 403, "csrf")
        gone = client.delete("/v1/session", headers={"x-routebook-csrf": said["csrf"]})
        assert (gone.status_code, gone.json()["who"]) == (200, None)
        client.cookies.set("routebook-session", cookie.partition("=")[2].partition(";")[0])
        refused(client.get("/v1/records"), 401, "login-required")


def test_behind_tls_the_cookie_is_secure(ns: Process) -> None:
    with browser(ns.wait_until_http()) as client:
        answer = client.post(
            "/v1/session",
            json={"access_key": ADMIN[0], "secret_key": ADMIN[1]},
            headers={"x-forwarded-proto": "https"},
        )
        assert answer.headers["set-cookie"].startswith("__Host-routebook-session=")
        assert answer.headers["set-cookie"].endswith("; Secure")


def test_wrong_secrets_are_rejected_alike_and_counted(ns: Process) -> None:
    url = ns.wait_until_http()
    with browser(url) as client:
        for access_key, secret in (
            ("root", "wrong"),
            ("nobody", "wrong"),
            ("", ""),
            ("root", ""),
            ("ro\u20act", "\u20ac"),
            *[("root", "wrong")] * 3,  # five for root in all
        ):
            answer = client.post("/v1/session", json={"access_key": access_key, "secret_key": secret})
            refused(answer, 401, "bad-credentials")
            assert "set-cookie" not in answer.headers
        limited = client.post("/v1/session", json={"access_key": ADMIN[0], "secret_key": ADMIN[1]})
        problem = refused(limited, 429, "too-many-attempts")
        assert 0 < problem["retry_after_s"] <= 60
        other = client.post("/v1/session", json={"access_key": "nobody", "secret_key": "wrong"})
        refused(other, 401, "bad-credentials")  # another key from the same address is not limited
    with httpx.Client(base_url=url, auth=ADMIN) as program:
        denied = [r for r in program.get("/v1/records").json()["records"] if r["kind"] == "request_denied"]
    assert any("login failed as root" in record["fields"]["why"] for record in denied)
    assert all("wrong" not in str(record) for record in denied)


def test_sessions_expire(tmp_path: Path) -> None:
    settings = {"routebook.auth.file": write_identities(tmp_path), "routebook.console.sessionMinutes": 1}
    with (
        serving(tmp_path / "home", http="127.0.0.1:0", settings=settings) as ns,
        browser(ns.wait_until_http()) as client,
    ):
        answer = client.post("/v1/session", json={"access_key": ADMIN[0], "secret_key": ADMIN[1]})
        assert "Max-Age=60" in answer.headers["set-cookie"]
        assert answer.json()["expires_at_ms"] - time.time() * 1000 < 61_000


def test_cross_site_requests_are_rejected(ns: Process) -> None:
    url = ns.wait_until_http()
    body = {"namespace": "n", "key": "k", "value": "v", "dry_run": False}
    with browser(url, ADMIN) as client:
        for headers in (
            {"origin": "http://evil.example"},
            {"origin": "null"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
        ):
            refused(client.post("/v1/admin/kv", json=body, headers=headers), 403, "origin")
            refused(
                client.post("/v1/session", json={"access_key": "a", "secret_key": "b"}, headers=headers), 403, "origin"
            )
        form = client.post("/v1/admin/kv", content=b'{"namespace":"n","key":"k","value":"v","dry_run":false}')
        assert form.status_code in (400, 415)
        refused(client.post("/v1/admin/kv", json=body, headers={"x-routebook-csrf": "guess"}), 403, "csrf")
        assert client.get("/v1/kv").json() == {"namespaces": {}}


def test_a_dry_run_changes_nothing_and_a_change_is_journalled(ns: Process) -> None:
    url = ns.wait_until_http()
    with browser(url, ADMIN) as client:
        body = {"namespace": "n", "key": "k", "value": "v"}
        planned = client.post("/v1/admin/kv", json=body).json()
        assert (planned["dry_run"], planned["done"], planned["seq"]) == (True, False, None)
        assert planned["changes"] == [{"what": "KV n / k", "before": None, "after": "v"}]
        assert client.get("/v1/kv").json() == {"namespaces": {}}
        done = client.post("/v1/admin/kv", json={**body, "dry_run": False}).json()
        assert (done["done"], done["changes"]) == (True, planned["changes"])
        assert client.get("/v1/kv").json() == {"namespaces": {"n": {"k": "v"}}}
        (record,) = client.get("/v1/records", params={"kind": "kv_changed"}).json()["records"]
        assert (record["seq"], record["who"], record["code"]) == (done["seq"], "root", 100)
        assert record["peer"].startswith("127.0.0.1:")
        again = client.post("/v1/admin/kv", json={**body, "dry_run": False}).json()
        assert (again["done"], again["changes"], again["seq"]) == (False, [], None)
        gone = client.delete("/v1/admin/kv/n/k", params={"dry_run": "false"}).json()
        assert (gone["done"], gone["changes"][0]["before"], gone["changes"][0]["after"]) == (True, "v", None)
        assert client.get("/v1/kv").json() == {"namespaces": {"n": {}}}


def test_settings(ns: Process) -> None:
    with browser(ns.wait_until_http(), ADMIN) as client:
        wish = {"values": {"orderMessageEnable": "true", "listenPort2": "1"}}
        planned = client.post("/v1/admin/settings", json=wish).json()
        assert planned["changes"] == [{"what": "orderMessageEnable", "before": "false", "after": "true"}]
        assert "listenPort2" in planned["notes"][0]
        assert client.post("/v1/admin/settings", json={**wish, "dry_run": False}).json()["done"]
        settings = {one["key"]: one for one in client.get("/v1/settings").json()["settings"]}
        assert settings["orderMessageEnable"]["value"] == "true"
        forbidden = {"values": {"kvConfigPath": "/etc/passwd"}, "dry_run": False}
        refused(client.post("/v1/admin/settings", json=forbidden), 403, "denied")
        smuggled = {"values": {"waitSecondsForService": "1\nkvConfigPath=/etc/passwd"}, "dry_run": False}
        answer = client.post("/v1/admin/settings", json=smuggled).json()
        assert (answer["done"], answer["changes"]) == (False, [])
        assert "routebook.tls.keyPassword" not in settings


@asynchronous
async def test_permissions_and_topics(ns: Process) -> None:
    credentials = Credentials(access_key=BROKER[0], secret_key=BROKER[1])
    frame = register(broker="a", cluster="c1", topics=["t", "u"])
    async with NameServerClient(f"{ns.host}:{ns.port}", credentials=credentials) as broker:
        await broker.ask(Request(RequestCode.REGISTER_BROKER, lambda _: None, dict(frame.ext or {}), frame.body))
        with browser(ns.wait_until_http(), ADMIN) as client:
            planned = client.post("/v1/admin/brokers/a/wipe-write", json={}).json()
            assert [change["what"] for change in planned["changes"]] == ["topic t", "topic u"]
            assert (planned["changes"][0]["before"], planned["changes"][0]["after"]) == (
                "read and write (6)",
                "read (4)",
            )
            assert client.get("/v1/routes/t").json()["route"]["queues"][0]["writable"]
            wiped = client.post("/v1/admin/brokers/a/wipe-write", json={"dry_run": False}).json()
            assert (wiped["done"], wiped["total"]) == (True, 2)
            assert not client.get("/v1/routes/t").json()["route"]["queues"][0]["writable"]
            restored = client.post("/v1/admin/brokers/a/restore-write", json={"dry_run": False}).json()
            assert (restored["done"], restored["total"]) == (True, 2)
            elsewhere = client.delete("/v1/admin/topics/t", params={"dry_run": "false", "cluster": "c2"}).json()
            assert (elsewhere["done"], elsewhere["total"]) == (False, 0)
            deleted = client.delete("/v1/admin/topics/t", params={"dry_run": "false"}).json()
            assert (deleted["done"], deleted["changes"][0]["what"]) == (True, "topic t on a")
            assert client.get("/v1/routes/t").status_code == 404
            assert client.post("/v1/admin/brokers/none/wipe-write", json={}).status_code == 404
            records = client.get("/v1/records").json()["records"]
            assert [r["kind"] for r in records[:3]] == ["topic_deleted", "permission_restored", "permission_wiped"]
            assert {r["who"] for r in records[:3]} == {"root"}
        with browser(ns.wait_until_http(), LIMITED) as client:
            refused(client.post("/v1/admin/brokers/a/wipe-write", json={"dry_run": False}), 403, "not-admin")
            assert client.get("/v1/routes/u").json()["route"]["queues"][0]["writable"]


def test_identities_without_admin_permission(ns: Process) -> None:
    url = ns.wait_until_http()
    body = {"namespace": "n", "key": "k", "value": "v", "dry_run": False}
    with browser(url) as client:
        refused(client.post("/v1/admin/kv", json=body), 401, "login-required")
    with browser(url, READER) as client:
        assert client.get("/v1/session").json()["admin"] is False
        assert client.get("/v1/overview").status_code == 200
        assert client.post("/v1/admin/kv", json=body).status_code == 403
        assert client.get("/v1/records").status_code == 403
    with browser(url, LIMITED) as client:
        refused(client.post("/v1/admin/kv", json=body), 403, "not-admin")
    with httpx.Client(base_url=url, auth=ADMIN) as program:
        assert program.get("/v1/kv").json() == {"namespaces": {}}
        denied = [r for r in program.get("/v1/records").json()["records"] if r["kind"] == "request_denied"]
        assert {record.get("who") for record in denied} >= {"reader", "limited"}
        done = program.post("/v1/admin/kv", json=body)
        assert done.json()["done"], "programs that send their secret need no CSRF token"


def test_without_authentication_changes_are_rejected(tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0") as ns, browser(ns.wait_until_http()) as client:
        said = client.get("/v1/session").json()
        assert said["authentication"] is False
        assert "routebook.auth.file" in said["hint"]
        login = client.post("/v1/session", json={"access_key": "a", "secret_key": "b"})
        assert "routebook.auth.file" in refused(login, 403, "authentication-off")["hint"]
        body = {"namespace": "n", "key": "k", "value": "v", "dry_run": False}
        refused(client.post("/v1/admin/kv", json=body), 403, "authentication-off")
        refused(client.delete("/v1/admin/topics/t", params={"dry_run": "false"}), 403, "authentication-off")
        assert client.get("/v1/kv").json() == {"namespaces": {}}


@pytest.mark.parametrize("size", [70_000, 10_000_000])
def test_large_bodies_are_rejected(ns: Process, size: int) -> None:
    with browser(ns.wait_until_http()) as client:
        try:
            answer = client.post("/v1/session", json={"access_key": "a" * size, "secret_key": "b"})
        except httpx.WriteError:
            return  # the server had answered and closed before all was sent
        assert answer.status_code in (400, 413)


def test_the_live_console_needs_authentication(tmp_path: Path) -> None:
    settings = {"routebook.auth.file": write_identities(tmp_path, anonymous=False), "routebook.journal.commitMillis": 0}
    with serving(tmp_path / "home", http="127.0.0.1:0", settings=settings) as ns:
        url = ns.wait_until_http()
        with (
            pytest.raises(ConnectionClosed) as closed,
            connect(f"ws://{url.removeprefix('http://')}/v1/live") as socket,
        ):
            socket.recv(timeout=10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
        assert httpx.get(f"{url}/").status_code == 200, "the page itself tells nothing"
        with browser(url, READER) as reader, browser(url, ADMIN) as admin:
            cookies = [f"routebook-session={client.cookies['routebook-session']}" for client in (reader, admin)]
            with (
                live_console(url, additional_headers={"cookie": cookies[0]}) as reading,
                live_console(url, additional_headers={"cookie": cookies[1]}) as knowing,
            ):
                reading.say({"type": "watch", "kinds": ["kv_changed"]})
                admin.post("/v1/admin/kv", json={"namespace": "n", "key": "k", "value": "v", "dry_run": False})
                knowing.until(lambda: any(event["kind"] == "kv_changed" for event in knowing.events))
                assert knowing.events[-1]["who"] == "root"
                reading.take()
                reading.take()
                assert reading.events == [], "events tell who asked, and from where"
