"""Authentication and authorization on the NameServer port, and the records of denials."""

import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from routebook.client.signing import Credentials
from routebook.client.signing import signed as sign_fields
from tests.support.certificates import Authority
from tests.support.process import Process, serving, start
from tests.support.remoting import Client, get_kv, put_kv, register, route
from tests.support.remoting_frames import Reply, Request
from tests.support.signing import IDENTITIES, SECRETS, identities_file, signed

ROUTE = Request(code=105, ext={"topic": "TopicTest"})


class Authenticated:
    """A server with identities, and a connection to it."""

    def __init__(self, process: Process, home: Path, client: Client) -> None:
        self.process = process
        self.home = home
        self.client = client

    def ask(self, request: Request, who: str | None = None, secret: str | None = None) -> Reply:
        return self.client.ask(request if who is None else signed(request, who, secret))

    def events(self, kind: str) -> list[dict[str, object]]:
        lines = [line for file in (self.home / "journal").glob("*.jsonl") for line in file.read_text().splitlines()]
        return [event for event in map(json.loads, lines) if event["kind"] == kind]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Authenticated]:
    file = identities_file(tmp_path / "ids.toml")
    home = tmp_path / "home"
    with (
        serving(home, settings={"routebook.auth.file": file}) as process,
        Client(process.address) as client,
    ):
        yield Authenticated(process, home, client)


def test_signed_requests_are_permitted_by_access_class(server: Authenticated) -> None:
    assert server.ask(register(), "broker-a").code == 0
    for who in ("broker-a", "fleet", "client", "ops-key"):
        assert server.ask(ROUTE, who).code == 0
    assert server.ask(put_kv("k", "v"), "ops-key").code == 0
    assert server.ask(get_kv("k"), "ops-key").ext["value"] == "v"
    assert server.ask(Request(code=9999), "client").code == 3
    assert server.ask(replace(ROUTE, binary=True), "client").code == 0

    denied = [
        server.ask(put_kv("k", "v"), "client"),
        server.ask(get_kv("k"), "broker-a"),
        server.ask(register(), "ops-key"),
        server.ask(Request(code=319), "client"),
        server.ask(Request(code=318, body=b"x=y"), "fleet"),
    ]
    assert [reply.code for reply in denied] == [16] * len(denied)
    assert denied[0].remark == "authorization failed: client has no admin_write"


def test_unsigned_and_wrongly_signed_requests_are_denied(server: Authenticated) -> None:
    wrong = [
        server.ask(ROUTE),
        server.ask(Request(code=9999)),
        server.ask(replace(ROUTE, ext={"topic": "T", "AccessKey": "client"})),
        server.ask(replace(ROUTE, ext={"topic": "T", "AccessKey": "client", "Signature": ""})),
        server.ask(ROUTE, "client", "another-secret"),
        server.ask(ROUTE, "nobody", "secret-of-client"),
        server.ask(ROUTE, "ops", "secret-of-ops"),  # the name is not the access key
        server.ask(ROUTE, "certified", ""),
        server.ask(ROUTE, "far"),
        server.ask(replace(signed(ROUTE, "client"), body=b"more")),
    ]
    assert [reply.code for reply in wrong] == [16] * len(wrong)
    assert wrong[0].remark == (
        "authentication failed: the request is not signed; give the client an access key and a secret key"
    )
    assert wrong[4].remark == wrong[5].remark == "authentication failed: check signature failed."
    assert server.ask(ROUTE, "client").code == 17  # the connection stays usable


def test_a_one_way_request_is_denied(server: Authenticated) -> None:
    server.client.send(replace(register(), flag=2).encode())
    assert server.ask(ROUTE, "client").code == 17


def test_a_broker_cannot_act_for_another_broker(server: Authenticated) -> None:
    assert server.ask(register(broker="broker-b", addr="127.0.0.1:2"), "fleet").code == 0
    assert server.ask(register(), "broker-a").code == 0
    other = {"clusterName": "c1", "brokerName": "broker-a", "brokerAddr": "127.0.0.1:2", "brokerId": "0"}
    attempts = [
        register(broker="broker-b"),
        register(cluster="c2"),
        register(addr="127.0.0.1:2"),  # the address of another broker
        Request(code=104, ext=other),
        Request(code=904, ext=other),
        Request(code=322, ext=other, body=b'{"counter":1,"stateVersion":0,"timestamp":1}'),
        Request(code=217, ext={"topic": "N"}, body=b'{"queueDatas":[{"brokerName":"broker-b"}]}'),
        _with_mapping("broker-b"),
    ]
    replies = [server.ask(request, "broker-a") for request in attempts]
    assert [reply.code for reply in replies] == [16] * len(attempts)
    assert replies[0].remark == "authorization failed: broker-a may not act for broker broker-b"
    brokers = json.loads(server.ask(Request(code=106), "ops-key").body.replace(b"{0:", b'{"0":'))["brokerAddrTable"]
    assert {name: group["brokerAddrs"] for name, group in brokers.items()} == {
        "broker-a": {"0": "127.0.0.1:10911"},
        "broker-b": {"0": "127.0.0.1:2"},
    }
    assert server.ask(_with_mapping("broker-a"), "broker-a").code == 0
    own = {**other, "brokerAddr": "127.0.0.1:10911"}
    assert [server.ask(Request(code=code, ext=own), "broker-a").code for code in (904, 104)] == [0, 0]


def test_a_broker_cannot_announce_topics_of_others(server: Authenticated) -> None:
    topics = ("orders-eu", "payments-eu", "SELF_TEST_TOPIC")
    own = register(broker="broker-o", addr="127.0.0.1:3", topics=topics)
    assert server.ask(own, "orders").code == 0
    assert server.ask(route("orders-eu"), "client").code == 0
    assert server.ask(route("payments-eu"), "client").code == 17
    body = b'{"queueDatas":[{"brokerName":"broker-o","readQueueNums":1,"writeQueueNums":1,"perm":6}]}'
    single = [
        server.ask(Request(code=217, ext={"topic": t}, body=body), "orders") for t in ("payments-eu", "orders-us")
    ]
    assert [reply.code for reply in single] == [16, 0]
    assert single[0].remark == "authorization failed: orders may not change topic payments-eu"
    assert server.ask(register(addr="127.0.0.1:3"), "broker-a").code == 16
    far = register(broker="broker-far", addr="127.0.0.1:10911", cluster="c9")
    assert server.ask(far, "fleet").code == 0
    assert server.ask(register(), "broker-a").code == 16  # the same address in another cluster
    assert [server.ask(replace(gone, code=104), "fleet").code for gone in (own, far)] == [0, 0]


def _with_mapping(owner: str) -> Request:
    request = register()
    body = json.loads(request.body)
    mapping = {"topic": "S", "bname": owner, "totalQueues": 1, "epoch": 1, "dirty": False, "currIdMap": {}}
    body["topicConfigSerializeWrapper"]["topicQueueMappingInfoMap"] = {"S": mapping}
    return replace(request, body=json.dumps(body).encode())


def test_a_signed_registration_renews_although_its_signature_differs(server: Authenticated) -> None:
    """5.x brokers write the time into the body, so every signature differs."""
    for stamp in (1, 2, 3):
        request = register()
        body = b'{"mappingDataVersion":{"counter":0,"stateVersion":0,"timestamp":%d},' % stamp + request.body[1:]
        assert server.ask(replace(request, body=body), "broker-a").code == 0
    server.process.stop()
    assert [event["broker"] for event in server.events("broker_up")] == ["broker-a"]
    assert server.events("broker_changed") == []


def test_events_contain_the_identity(server: Authenticated) -> None:
    assert server.ask(put_kv("k", "v"), "ops-key").code == 0
    assert server.ask(put_kv("k", "w"), "client").code == 16
    server.ask(ROUTE)
    for _ in range(20):
        server.ask(ROUTE)
    server.process.stop()
    (put,) = server.events("kv_changed")
    assert (put["who"], put["code"]) == ("ops", 100)
    rows = [
        (event.get("who"), event["code"], event["why"], event.get("count", 1))
        for event in server.events("request_denied")
    ]
    assert rows == [
        ("client", 100, "client has no admin_write", 1),
        (None, 105, "not signed", 1),
        (None, 105, "not signed", 20),
    ]
    assert all(str(event["peer"]).startswith("127.0.0.1:") for event in server.events("request_denied"))


def test_secrets_appear_nowhere(tmp_path: Path) -> None:
    file = identities_file(tmp_path / "ids.toml")
    home = tmp_path / "home"
    with serving(home, settings={"routebook.auth.file": file, "routebook.logLevel": "debug"}) as process:
        with Client(process.address) as client:
            client.ask(signed(put_kv("k", "v"), "ops-key"))
            client.ask(signed(register(), "broker-a"))
            client.ask(signed(ROUTE, "client", "another-secret"))
            config = client.ask(signed(Request(code=319), "ops-key"))
            assert config.code == 0
            assert client.ask(signed(Request(code=318, body=b"routebook.auth.file="), "ops-key")).code == 16
        process.stop()
        everything = process.out + process.log + config.body.decode()
    everything += "".join(path.read_text(errors="replace") for path in home.rglob("*") if path.is_file())
    signatures = [signed(ROUTE, "client").ext, signed(register(), "broker-a").ext]
    for secret in (*SECRETS.values(), "another-secret", *(ext["Signature"] for ext in signatures if ext)):
        assert secret not in everything
    assert "routebook.auth" not in config.body.decode()


def test_a_changed_file_is_used_and_an_invalid_one_is_ignored(tmp_path: Path) -> None:
    file = identities_file(tmp_path / "ids.toml")
    with (
        serving(tmp_path / "home", settings={"routebook.auth.file": file}) as process,
        Client(process.address) as client,
    ):
        assert client.ask(signed(ROUTE, "client")).code == 17
        identities_file(file, IDENTITIES.replace("secret-of-client", "a-newer-secret"))
        process.wait_for_log("identities in force: 7")
        assert client.ask(signed(ROUTE, "client")).code == 16
        assert client.ask(signed(ROUTE, "client", "a-newer-secret")).code == 17
        identities_file(file, "broken")
        process.wait_for_log("is invalid.*the previous identities stay in force")
        assert client.ask(signed(ROUTE, "client", "a-newer-secret")).code == 17
        assert client.ask(ROUTE).code == 16


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        (None, 0, "(routebook.auth.file): No such file"),
        (IDENTITIES, 0o644, "has mode 0644"),
        ("", 0o600, ": add one, or disable authentication"),
        ("[[identity", 0o600, "not TOML"),
    ],
)
def test_an_invalid_identities_file_prevents_the_start(tmp_path: Path, text: str | None, mode: int, says: str) -> None:
    file = tmp_path / "ids.toml"
    if text is not None:
        identities_file(file, text, mode=mode)
    process = start(tmp_path / "home", settings={"routebook.auth.file": file})
    try:
        assert process.wait() != 0
    finally:
        process.kill()
    assert says in process.log
    assert "listening" not in process.out
    assert "Traceback" not in process.log


def test_anonymous_look_ups_if_the_file_permits_them(tmp_path: Path) -> None:
    file = identities_file(tmp_path / "ids.toml", 'anonymous = ["route_read"]\n' + IDENTITIES)
    with (
        serving(tmp_path / "home", settings={"routebook.auth.file": file}) as process,
        Client(process.address) as client,
    ):
        assert client.ask(ROUTE).code == 17
        assert client.ask(signed(ROUTE, "a-key-for-brokers", "whatever")).code == 17
        assert client.ask(signed(ROUTE, "client", "wrong-secret")).code == 16
        for request in (put_kv("k", "v"), get_kv("k"), register(), Request(code=219), Request(code=319)):
            assert client.ask(request).code == 16


def test_a_proxy_header_does_not_change_the_network_of_a_client(tmp_path: Path) -> None:
    header = b"PROXY TCP4 10.1.2.3 127.0.0.1 4000 9876\r\n"
    file = identities_file(tmp_path / "ids.toml")
    for trusted, code in (("", 16), ("192.0.2.0/24", 16), ("127.0.0.0/8", 22)):
        settings = {"routebook.auth.file": file, "routebook.proxyNetworks": trusted}
        with (
            serving(tmp_path / f"home{code}{len(trusted)}", settings=settings) as process,
            Client(process.address, before=header) as client,
        ):
            assert client.ask(signed(get_kv("absent"), "far")).code == code


def test_a_client_certificate_maps_to_an_identity(tmp_path: Path) -> None:
    ours, theirs = Authority(), Authority("somebody else")
    pair = ours.issue("localhost", cert=tmp_path / "cert.pem", key=tmp_path / "key.pem")
    settings = {
        "routebook.auth.file": identities_file(tmp_path / "ids.toml"),
        "routebook.tls.testMode": False,
        "routebook.tls.certPath": pair[0],
        "routebook.tls.keyPath": pair[1],
        "routebook.tls.needClientAuth": "optional",
        "routebook.tls.authClient": True,
        "routebook.tls.trustCertPath": ours.write(tmp_path / "ca.pem"),
    }

    def context(name: str | None, authority: Authority = ours) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        if name is not None:
            context.load_cert_chain(*authority.issue(name, cert=tmp_path / "c.pem", key=tmp_path / "k.pem"))
        return context

    with serving(tmp_path / "home", settings=settings) as process:
        with Client(process.address, tls=context("certified.example")) as client:
            assert client.ask(get_kv("absent")).code == 22
            assert client.ask(put_kv("k", "v")).code == 16
            assert client.ask(signed(put_kv("k", "v"), "ops-key")).code == 0
            assert client.ask(signed(get_kv("k"), "client", "wrong")).code == 16
        for name in (None, "another.example"):
            with Client(process.address, tls=context(name)) as client:
                assert client.ask(get_kv("k")).code == 16
        with Client(process.address, tls=context("certified.example", theirs)) as client:
            client.send(get_kv("k").encode())
            assert client.is_closed_by_server()


def test_authentication_is_off_by_default(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as process, Client(process.address) as client:
        assert client.ask(put_kv("k", "v")).code == 0
        assert client.ask(signed(get_kv("k"), "nobody", "whatever")).code == 0


def test_classes_that_need_tls_are_denied_without_it(tmp_path: Path) -> None:
    file = identities_file(tmp_path / "ids.toml")
    settings = {"routebook.auth.file": file, "routebook.auth.requireTls": "admin_write, broker_control"}
    with serving(tmp_path / "home", settings=settings) as process:
        with Client(process.address) as client:
            assert client.ask(signed(ROUTE, "client")).code == 17
            for request, who in ((put_kv("k", "v"), "ops-key"), (register(), "fleet")):
                denied = client.ask(signed(request, who))
                assert denied.code == 16
                assert "needs TLS (routebook.auth.requireTls)" in (denied.remark or "")
            assert client.ask(signed(get_kv("k"), "ops-key")).code == 22  # admin_read is not listed
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(process.address, timeout=30) as raw, context.wrap_socket(raw) as encrypted:
            encrypted.sendall(signed(put_kv("k", "v"), "ops-key").encode())
            length = int.from_bytes(encrypted.recv(4), "big")
            answer = b""
            while len(answer) < length:
                answer += encrypted.recv(length - len(answer))
            assert Reply.parse(length.to_bytes(4, "big") + answer).code == 0


def stamped(request: Request, access_key: str) -> Request:
    """Signed as Routebook's own programs do."""
    keys = Credentials(access_key=access_key, secret_key=SECRETS[access_key])
    return replace(request, ext=sign_fields(request.ext or {}, request.body, keys, code=request.code))


def test_a_stamped_request_is_accepted_once_and_for_its_code_only(server: Authenticated) -> None:
    put = stamped(put_kv("stamped", "v"), "ops-key")
    with Client(server.process.address) as client:
        assert client.ask(replace(put, code=102)).code == 16  # the signature alone would allow it
        assert client.ask(put).code == 0
        again = client.ask(put)
        assert (again.code, again.remark) == (
            16,
            "authentication failed: the request was received before: it may be a replay",
        )
        fields = {**(put.ext or {}), "RoutebookStamp": None}
        assert client.ask(replace(put, ext={name: value for name, value in fields.items() if value})).code == 16
        assert client.ask(stamped(put_kv("stamped", "v"), "ops-key")).code == 0


def test_a_stamped_look_up_is_accepted_once(server: Authenticated) -> None:
    look_up = stamped(ROUTE, "client")
    with Client(server.process.address) as client:
        assert client.ask(signed(ROUTE, "client")).code == 17  # the connection has a permit for known look-ups
        assert client.ask(look_up).code == 17
        assert client.ask(look_up).code == 16


def test_classes_that_need_a_stamp(tmp_path: Path) -> None:
    file = identities_file(tmp_path / "ids.toml")
    settings = {"routebook.auth.file": file, "routebook.auth.requireStamp": "admin_write"}
    with serving(tmp_path / "home", settings=settings) as process, Client(process.address) as client:
        denied = client.ask(signed(put_kv("k", "v"), "ops-key"))
        assert denied.code == 16
        assert "needs a stamped signature (routebook.auth.requireStamp)" in (denied.remark or "")
        assert client.ask(stamped(put_kv("k", "v"), "ops-key")).code == 0
        assert client.ask(signed(ROUTE, "client")).code == 17  # route_read is not listed
