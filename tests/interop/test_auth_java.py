"""Java's broker, producer and mqadmin with signatures are accepted unchanged; without, they are denied and recorded."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.compare import parse_body
from tests.support.java import COMMON_FLAGS, PROJECT, fetch_jars, java_broker
from tests.support.missing_tools import require_tool
from tests.support.process import Process, serving
from tests.support.remoting import Client, eventually
from tests.support.remoting_frames import Request
from tests.support.signing import identities_file, signed

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.third_party]

IDENTITIES = """
[[identity]]
name = "b-a"
secret = "secret-of-b-a"
access = ["broker_control"]
clusters = ["C1"]
brokers = ["b-a"]

[[identity]]
name = "producer"
secret = "secret-of-producer"
access = ["route_read"]

[[identity]]
name = "ops"
secret = "secret-of-ops"
access = ["admin_write"]
"""
_PROVIDERS = "org.apache.rocketmq.auth.authentication.provider"
SIGNING: dict[str, Any] = {
    "innerClientAuthenticationCredentials": '{"accessKey":"b-a","secretKey":"secret-of-b-a"}',
    # a 5.5.0 broker needs this too, although it does not authenticate clients itself
    "authenticationMetadataProvider": f"{_PROVIDERS}.LocalAuthenticationMetadataProvider",
}


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Class path of the compiled probe."""
    require_tool("javac")
    classes = tmp_path_factory.mktemp("classes")
    class_path = f"{classes}{os.pathsep}{PROJECT}{os.pathsep}{fetch_jars()}/*"
    source = str(PROJECT / "AuthProbe.java")
    subprocess.run(
        ["javac", "-encoding", "UTF-8", "-cp", class_path, "-d", str(classes), source], check=True, capture_output=True
    )
    return class_path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    file = identities_file(tmp_path / "ids.toml", IDENTITIES)
    with serving(tmp_path / "home", settings={"routebook.auth.file": file}) as process:
        yield process


def run(probe: str, home: Path, process: Process, *credentials: str, flags: tuple[str, ...] = ()) -> dict[str, str]:
    """The output of the producer and of mqadmin, by command."""
    (home / "conf").mkdir(parents=True, exist_ok=True)
    if credentials:
        (home / "conf" / "tools.yml").write_text("accessKey: ops\nsecretKey: secret-of-ops\n")
    more = [*COMMON_FLAGS, *flags, f"-Duser.home={home}", "-Drocketmq.client.logUseSlf4j=true", "-Xmx128m"]
    command = [
        "java",
        *more,
        "-cp",
        probe,
        "AuthProbe",
        f"{process.host}:{process.port}",
        "BenchmarkTest",
        *credentials,
    ]
    environment = {**os.environ, "ROCKETMQ_HOME": str(home)}
    environment.pop("NAMESRV_ADDR", None)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180, env=environment)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
    assert done.returncode == 0, done.stdout + done.stderr
    return {line["what"]: line["said"] for line in lines}


def brokers(process: Process) -> dict[str, Any]:
    with Client(process.address) as client:
        reply = client.ask(signed(Request(code=106), "ops", "secret-of-ops"))
    assert reply.code == 0
    table: dict[str, Any] = parse_body(reply.body)["brokerAddrTable"]
    return table


def denied(home: Path) -> list[dict[str, Any]]:
    lines = [line for file in (home / "journal").glob("*.jsonl") for line in file.read_text().splitlines()]
    return [event for event in map(json.loads, lines) if event["kind"] == "request_denied"]


@pytest.mark.parametrize("form", ["JSON", "ROCKETMQ"])
def test_signed_programs_are_accepted(tmp_path: Path, server: Process, probe: str, form: str) -> None:
    flags = (f"-Drocketmq.serialize.type={form}",)
    with java_broker(tmp_path / "broker", nameserver=server.address, enableSlaveActingMaster="true", **SIGNING):
        eventually(lambda: "b-a" in brokers(server), "the broker is registered", within_s=180)
        output = run(probe, tmp_path / "signed", server, "producer", "secret-of-producer", flags=flags)
        assert output["send"] == "SEND_OK", output
        assert "b-a" in output["clusterList"]
        assert "TBW102" in output["topicList"]
        assert "create or update kv config to namespace success" in output["updateKvConfig"]
        assert "listenPort" in output["getNamesrvConfig"]
        assert "wipe write perm of broker[b-a]" in output["wipeWritePerm"]
        assert "secret" not in output["getNamesrvConfig"]
    server.stop()
    assert denied(tmp_path / "home") == []


def test_unsigned_programs_are_denied_and_recorded(tmp_path: Path, server: Process, probe: str) -> None:
    with java_broker(tmp_path / "broker", nameserver=server.address):
        eventually(
            lambda: any(row["code"] == 103 for row in denied(tmp_path / "home")),
            "the broker has tried to register",
            within_s=180,
        )
        output = run(probe, tmp_path / "unsigned", server)
        assert "No route info of this topic" in output["send"], output
        for command in ("clusterList", "topicList", "updateKvConfig", "getNamesrvConfig", "wipeWritePerm"):
            assert "the request is not signed" in output[command], output
        assert brokers(server) == {}
    server.stop()
    rows = denied(tmp_path / "home")
    assert {row["code"] for row in rows} >= {100, 103, 105, 106, 205, 206, 319}
    assert {row["why"] for row in rows} == {"not signed"}
    assert all(row["peer"].startswith("127.0.0.1:") for row in rows)


def test_a_broker_with_another_name_is_denied(tmp_path: Path, server: Process) -> None:
    def rows() -> list[dict[str, Any]]:
        return [row for row in denied(tmp_path / "home") if row["code"] == 103]

    with java_broker(tmp_path / "broker", nameserver=server.address, brokerName="b-b", **SIGNING):
        eventually(lambda: bool(rows()), "its registration is denied", within_s=180)
        assert brokers(server) == {}
    assert {(row["who"], row["why"]) for row in rows()} == {("b-a", "b-a may not act for broker b-b")}
