"""HTTP and the command line with authentication on: the same identities as on the NameServer port."""

import base64
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.support.command_line import routebook
from tests.support.process import Process, serving
from tests.support.remoting import Client, eventually, put_kv
from tests.support.signing import IDENTITIES, identities_file, signed

OPS = ("ops-key", "secret-of-ops")
CLIENT = ("client", "secret-of-client")


class Answer(NamedTuple):
    """One HTTP response."""

    status: int
    headers: dict[str, str]
    body: str


class Asking:
    """A server with identities, and HTTP requests to it."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.url = process.wait_until_http()

    def ask(
        self, path: str, who: tuple[str, str] | None = None, *, scheme: str = "Basic", method: str = "GET"
    ) -> Answer:
        headers = {}
        if who is not None:
            pair = ":".join(who).encode()
            given = base64.b64encode(pair).decode() if scheme == "Basic" else pair.decode()
            headers["authorization"] = f"{scheme} {given}"
        return self.send(path, headers, method=method)

    def send(self, path: str, headers: dict[str, str], *, method: str = "GET") -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=20)
        try:
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read().decode())
        finally:
            connection.close()


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    folder = tmp_path_factory.mktemp("auth-http")
    file = identities_file(folder / "ids.toml")
    with serving(folder / "home", http="127.0.0.1:0", settings={"routebook.auth.file": file}) as process:
        yield Asking(process)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_need_no_permission(asking: Asking, path: str) -> None:
    assert asking.ask(path).status == 200


@pytest.mark.parametrize(
    "path",
    ["/v1/server", "/v1/health", "/v1/clusters", "/v1/brokers", "/v1/topics", "/v1/digest", "/metrics", "/schema"],
)
def test_paths_that_need_route_read(asking: Asking, path: str) -> None:
    assert asking.ask(path).status == 401
    assert asking.ask(path, CLIENT).status == 200
    assert asking.ask(path, OPS, scheme="Bearer").status == 200


@pytest.mark.parametrize("path", ["/v1/kv", "/v1/settings", "/v1/routes/T/history", "/v1/events", "/v1/journal"])
def test_paths_that_need_admin_read(asking: Asking, path: str) -> None:
    assert asking.ask(path).status == 401
    assert asking.ask(path, CLIENT).status == 403
    if path != "/v1/events":  # which has no end
        assert asking.ask(path, OPS).status in (200, 404)


@pytest.mark.parametrize(
    "path", ["//v1/kv", "/v1//kv", "/v1/kv/", "/v1/%6bv", "/V1/kv", "/v1/routes/../kv", "/x", "/metrics/"]
)
def test_no_spelling_of_a_path_bypasses_authorization(asking: Asking, path: str) -> None:
    assert asking.ask(path).status == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_need_admin_write(asking: Asking, method: str) -> None:
    assert asking.ask("/v1/kv", method=method).status == 401
    assert asking.ask("/v1/kv", CLIENT, method=method).status == 403


def test_an_unauthenticated_request_gets_a_challenge(asking: Asking) -> None:
    answer = asking.ask("/v1/kv")
    assert answer.headers["www-authenticate"] == 'Basic realm="routebook"'
    assert json.loads(answer.body)["code"] == "login-required"
    from_browser = asking.send("/v1/kv", {"sec-fetch-mode": "cors"})
    assert from_browser.status == 401
    assert "www-authenticate" not in from_browser.headers


@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic !!!",
        "Basic " + base64.b64encode(b"no colon").decode(),
        "Digest x",
        "Bearer \xff:\xff",
        "Bearer x",
    ],
)
def test_a_malformed_authorization_header(asking: Asking, header: str) -> None:
    answer = asking.send("/v1/server", {"authorization": header})
    assert (answer.status, json.loads(answer.body)["code"]) == (401, "bad-credentials")


def test_wrong_secrets_are_rejected_alike_and_then_throttled(tmp_path: Path) -> None:
    file = identities_file(tmp_path / "ids.toml")
    with serving(tmp_path / "home", http="127.0.0.1:0", settings={"routebook.auth.file": file}) as process:
        asking = Asking(process)
        answers = [asking.ask("/v1/kv", who) for who in (("ops-key", "wrong"), ("nobody", "wrong"))]
        assert [answer.status for answer in answers] == [401, 401]
        assert answers[0].body == answers[1].body
        statuses = [asking.ask("/v1/kv", ("ops-key", f"guess-{n}")).status for n in range(40)]
        assert statuses == [401] * 29 + [429] * 11
        assert asking.ask("/v1/kv", OPS).status == 429
        assert asking.ask("/v1/server", CLIENT).status == 200
        assert asking.ask("/healthz").status == 200


def test_an_identity_from_another_network_is_rejected(asking: Asking) -> None:
    assert asking.ask("/v1/server", ("far", "secret-of-far")).status == 403


def test_denials_are_recorded_and_counted(tmp_path: Path) -> None:
    file, home = identities_file(tmp_path / "ids.toml"), tmp_path / "home"
    with serving(home, http="127.0.0.1:0", settings={"routebook.auth.file": file}) as process:
        asking = Asking(process)
        asking.ask("/v1/kv")
        asking.ask("/v1/kv", CLIENT)
        with Client(process.address) as client:
            client.ask(put_kv("k", "v"))
            assert client.ask(signed(put_kv("k", "v"), "ops-key")).code == 0
        metrics = asking.ask("/metrics", CLIENT).body
        assert "routebook_requests_denied_total 3.0" in metrics
        assert 'routebook_limits_exceeded_total{limit="connections"} 0.0' in metrics
        assert 'routebook_health{part="access"} 0.0' in metrics
        for path in ("/v1/server", "/v1/health", "/metrics", "/v1/kv", "/v1/settings"):
            shown = asking.ask(path, OPS).body
            assert "secret-of" not in shown
        identities_file(file, "broken")
        eventually(lambda: 'routebook_health{part="access"} 1.0' in asking.ask("/metrics", OPS).body, "it is degraded")
        process.stop()
    lines = [line for part in (home / "journal").glob("*.jsonl") for line in part.read_text().splitlines()]
    rows = [event for event in map(json.loads, lines) if event["kind"] == "request_denied"]
    assert [(row["code"], row.get("who")) for row in rows] == [(0, None), (0, "client"), (100, None)]


def test_commands_sign_their_requests(asking: Asking) -> None:
    address = f"{asking.process.host}:{asking.process.port}"
    refused = routebook("topics", "-n", address)
    assert refused.code == 1
    assert "the request is not signed" in refused.err
    keys = ("--access-key", "ops-key", "--secret-key", "secret-of-ops")
    for command in (
        ("topics",),
        ("kv", "put", "n", "k", "v"),
        ("kv", "get", "n", "k"),
        ("config", "show"),
        ("doctor",),
    ):
        ran = routebook(*command, "-n", address, *keys)
        assert "authentication failed" not in ran.err
        assert "authorization failed" not in ran.err


def test_http_commands_send_credentials(asking: Asking) -> None:
    keys = {"ROCKETMQ_ACCESS_KEY": "ops-key", "ROCKETMQ_SECRET_KEY": "secret-of-ops"}
    ran = routebook("history", "absent", "--http", asking.url, environment=keys)
    assert (ran.code, "not logged in" in ran.err) == (1, False)
    refused = routebook("history", "absent", "--http", asking.url)
    assert "not logged in" in refused.err


def test_a_public_address_with_authentication_logs_no_warning(tmp_path: Path) -> None:
    public = ("serve", "-p", "--home", str(tmp_path), "--listen", "0.0.0.0:0", "--http", "0.0.0.0:0")
    warned = routebook(*public)
    assert warned.err.count("set routebook.auth.file to require authentication") == 2
    assert routebook(*public, "-D", "routebook.auth.file=ids.toml").err == ""


def test_a_fleet_signs_its_requests(tmp_path: Path) -> None:
    file, home = identities_file(tmp_path / "ids.toml"), tmp_path / "home"
    with serving(home, settings={"routebook.auth.file": file}) as process:
        address = f"{process.host}:{process.port}"
        size = ("--brokers", "3", "--topics", "4", "--clients", "2", "--duration", "2s")
        keys = ("--access-key", "fleet", "--secret-key", "secret-of-the-fleet")
        ran = routebook("fleet", "run", "-n", address, *size, *keys, "--json")
        assert (ran.code, ran.err) == (0, "")
        refused = routebook("fleet", "run", "-n", address, *size, "--json")
        assert refused.code != 0
        assert "the request is not signed" in refused.err
        process.stop()
    lines = [line for part in (home / "journal").glob("*.jsonl") for line in part.read_text().splitlines()]
    events = [json.loads(line) for line in lines]
    assert len({event["broker"] for event in events if event["kind"] == "broker_up"}) >= 1
    assert {event["code"] for event in events if event["kind"] == "request_denied"} == {106}


def test_peers_authenticate_to_each_other(tmp_path: Path) -> None:
    file = identities_file(tmp_path / "ids.toml")
    guarded = {"routebook.auth.file": file}
    with serving(tmp_path / "one", http="127.0.0.1:0", settings=guarded) as one:
        port = urlsplit(one.wait_until_http()).port
        watching = {
            "routebook.peers": f"{one.host}:{one.port}/{port}",
            "routebook.peers.intervalSeconds": 1,
            "routebook.peers.accessKey": "ops-key",
            "routebook.peers.secretKey": "secret-of-ops",
        }
        with serving(tmp_path / "two", http="127.0.0.1:0", settings=watching) as two:
            asking = Asking(two)

            def peer() -> dict[str, object]:
                found: dict[str, object] = json.loads(asking.ask("/v1/peers").body)["peers"][0]
                return found

            eventually(lambda: peer()["state"] == "agrees", "they agree")
            assert peer()["problem"] is None


def test_anonymous_readers_have_route_read(tmp_path: Path) -> None:
    file = identities_file(tmp_path / "ids.toml", 'anonymous = ["route_read"]\n' + IDENTITIES)
    with serving(tmp_path / "home", http="127.0.0.1:0", settings={"routebook.auth.file": file}) as process:
        asking = Asking(process)
        assert [asking.ask(path).status for path in ("/v1/brokers", "/metrics", "/v1/routes/T")] == [200, 200, 404]
        assert [asking.ask(path).status for path in ("/v1/kv", "/v1/settings")] == [401, 401]
