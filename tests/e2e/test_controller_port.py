"""The Controller's port over real sockets: both header forms, TLS, denials, limits, pipelining."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.support.compare import parse_body
from tests.support.controllers import controller_settings, free_address, routebook_process
from tests.support.process import Process
from tests.support.remoting import Client, eventually, trusting_anybody
from tests.support.remoting_frames import Reply, Request, frame
from tests.support.signing import identities_file, signed

SET = {"clusterName": "c1", "brokerName": "broker-a"}


def apply_id(number: int, brokerName: str = "broker-a", **more: str) -> Request:  # noqa: N803 - a field of the wire
    fields = {
        **SET,
        "brokerName": brokerName,
        "appliedBrokerId": str(number),
        "registerCheckCode": f"127.0.0.1:{number};7",
        **more,
    }
    return Request(code=1013, ext=fields, opaque=number)


def heartbeat(number: int, *, flag: int = 0) -> Request:
    return Request(code=904, ext={**SET, "brokerId": str(number), "brokerAddr": "127.0.0.1:1"}, flag=flag)


def elect(number: int, **more: str) -> Request:
    return Request(code=1002, ext={**SET, "brokerId": str(number), **more})


SYNC_STATE = Request(code=1006, body=b'["broker-a"]')


def alive(reply: Reply) -> set[int]:
    info = parse_body(reply.body)["replicasInfoTable"]["broker-a"]
    return {row["brokerId"] for row in info["inSyncReplicas"] + info["notInSyncReplicas"] if row["alive"]}


class Running:
    """A Controller in the process of a NameServer, which keeps a journal."""

    def __init__(self, process: Process, address: str, home: Path) -> None:
        host, _, port = address.rpartition(":")
        self.process = process
        self.address = host, int(port)
        self._home = home

    def events(self, kind: str) -> list[dict[str, object]]:
        files = (self._home / "home" / "journal").glob("*.jsonl")
        lines = [line for file in files for line in file.read_text().splitlines()]
        return [event for event in map(json.loads, lines) if event["kind"] == kind]


@contextmanager
def running(home: Path, settings: Mapping[str, object] = MappingProxyType({})) -> Iterator[Running]:
    address = free_address()
    given = {"enableControllerInNamesrv": "true", **controller_settings(address, home), **settings}
    with routebook_process(home, "serve", given, "--listen", "127.0.0.1:0", "--http", "off") as process:
        yield Running(process, address, home)


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("controller")) as made:
        yield made


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("secret", [False, True])
def test_both_header_forms_with_and_without_tls(controller: Running, binary: bool, secret: bool) -> None:
    name = f"set-{binary}-{secret}"
    with Client(controller.address, tls=trusting_anybody() if secret else None) as client:
        assert client.ask(replace(apply_id(1, name), binary=binary)).code == 0
        next_id = Request(code=1012, ext={**SET, "brokerName": name}, binary=binary)
        assert client.ask(next_id).ext["nextBrokerId"] == "2"


def test_tls_only(tmp_path: Path) -> None:
    with running(tmp_path, {"routebook.tls.mode": "enforcing"}) as made:
        with Client(made.address, tls=trusting_anybody()) as secret:
            assert secret.ask(Request(code=1005)).ext["isLeader"] == "true"
        with Client(made.address) as plain:
            plain.send(Request(code=1005).encode())
            assert plain.receive() is None


def test_pipelined_requests_of_one_set_are_decided_in_their_order(controller: Running) -> None:
    """An id other than 1 is rejected while the set is unknown: one request out of order would fail."""
    count = 200
    with Client(controller.address) as client:
        client.send(b"".join(apply_id(number, "pipelined").encode() for number in range(1, count + 1)))
        replies = client.receive_many(count)
        assert {reply.code for reply in replies} == {0}
        assert client.ask(Request(code=1012, ext={**SET, "brokerName": "pipelined"})).ext["nextBrokerId"] == "201"


def test_only_a_current_connection_counts(controller: Running) -> None:
    """The close of a former connection is not the death of its broker."""
    with Client(controller.address) as asking, Client(controller.address) as second:
        assert asking.ask(apply_id(1)).code == 0
        with Client(controller.address) as first:
            assert first.ask(heartbeat(1)).remark == "Heart beat success"
            assert asking.ask(elect(1)).code == 0
            assert second.ask(heartbeat(1)).code == 0
        assert asking.ask(elect(-1)).code == 2011
        assert alive(asking.ask(SYNC_STATE)) == {1}
    with Client(controller.address) as asking:
        eventually(lambda: alive(asking.ask(SYNC_STATE)) == set(), "the broker is dead")


def test_denials(tmp_path: Path) -> None:
    identities = identities_file(tmp_path / "ids.toml")
    with running(tmp_path / "ns", {"routebook.auth.file": identities}) as made, Client(made.address) as client:

        def code(request: Request, who: str | None = None) -> int:
            return client.ask(request if who is None else signed(request, who)).code

        config = Request(code=1009, body=b"enableElectUncleanMaster=true")
        clean = Request(code=1011, ext={**SET, "isCleanLivingBroker": "true"})
        assert code(apply_id(1)) == 16
        assert code(apply_id(1), "client") == 16
        assert code(apply_id(1), "broker-a") == 0
        assert code(replace(apply_id(2), binary=True), "broker-a") == 0
        assert code(apply_id(1, "broker-b"), "broker-a") == 16, "an identity for one broker"
        assert code(apply_id(1, "broker-b"), "fleet") == 0
        assert code(apply_id(2, clusterName="c2"), "broker-a") == 16, "an identity for one cluster"

        client.send(heartbeat(1, flag=2).encode())  # one-way: no answer, and no effect
        assert code(SYNC_STATE) == 16
        assert alive(client.ask(signed(SYNC_STATE, "client"))) == set()
        assert code(heartbeat(1), "broker-a") == 0
        assert alive(client.ask(signed(SYNC_STATE, "client"))) == {1}

        assert code(elect(1), "broker-a") == 0
        assert code(elect(1, designateElect="true"), "broker-a") == 16, "an operator's request"
        assert code(elect(1, designateElect="true"), "ops-key") == 2011
        assert code(Request(code=1005), "client") == 0
        assert code(Request(code=1010), "client") == 16
        assert code(Request(code=1010), "ops-key") == 0
        for request in (config, clean):
            assert code(request, "fleet") == 16
            assert code(request, "ops-key") == 0
        denied = {904, 1002, 1006, 1009, 1010, 1011, 1013}
        eventually(lambda: {event["code"] for event in made.events("request_denied")} == denied, "denials are recorded")


def test_limits(tmp_path: Path) -> None:
    limits = {
        "routebook.limits.frameBytes": 1024,
        "routebook.limits.connectionsPerAddress": 2,
        "routebook.limits.requestsPerSecond": 1,
    }
    with running(tmp_path, limits) as made, Client(made.address) as client:
        assert client.ask(apply_id(1)).code == 0
        codes = [client.ask(Request(code=1010)).code for _ in range(5)]
        assert 2 in codes, "requests of operators are limited"
        assert {client.ask(heartbeat(1)).code for _ in range(5)} == {0}, "those of brokers are not"
        with Client(made.address) as second:
            second.send(frame(b"{}" + b" " * 2000))
            assert second.receive() is None, "the frame is too long"
        with Client(made.address) as second, Client(made.address) as third:
            assert second.ask(heartbeat(2)).code == 0
            assert third.receive() is None, "one connection too many"
        assert client.ask(Request(code=1005)).code == 0


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"brokerName": "x" * 1025}, "brokerName"),
        ({"clusterName": "x" * 1025}, "clusterName"),
        ({"brokerName": "a\nb"}, "control character"),
        ({"registerCheckCode": "x" * 1025}, "registerCheckCode"),
    ],
)
def test_names_are_bounded(controller: Running, changed: dict[str, str], says: str) -> None:
    with Client(controller.address) as client:
        refused = client.ask(apply_id(1, **{"brokerName": "bounded", **changed}))
        assert refused.code == 1
        assert says in (refused.remark or "")
