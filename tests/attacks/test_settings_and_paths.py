"""Exploits of the Java NameServer: settings that name files (CVE-2023-33246, CVE-2023-37582), names that are paths
(CVE-2019-17572)."""

import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from routebook.events import RequestDenied
from tests.attacks.attacked_server import AttackedServer, under_attack
from tests.support.journals import events
from tests.support.process import serving
from tests.support.reliability_report import ReliabilityReport
from tests.support.remoting import Client, eventually, register
from tests.support.remoting_frames import Request

EVIL = "/tmp/routebook-was-here"
REFUSED = [
    f"configStorePath={EVIL}",
    f"kvConfigPath={EVIL}",
    f"rocketmqHome=-c $@|sh . echo touch {EVIL};",
    f"bindAddress=0.0.0.0\nconfigStorePath={EVIL}",
    f"orderMessageEnable=true\nkvConfigPath={EVIL}",
    f"config\\u0053torePath={EVIL}",
    f"kvConfig\\\n  Path={EVIL}",
    f"\\kvConfigPath : {EVIL}",
    f"  kvConfigPath\t{EVIL}",
    "configBlackList=",
    "listenPort=1",
    "routebook.auth.file=",
    "routebook.journal.enabled=false",
    f"routebook.tls.keyPath={EVIL}",
]
# Java stores the text as it was sent; here a value must not become a separate line
SMUGGLED = "socksProxyConfig={}\\nkvConfigPath\\=/evil\nwaitSecondsForService=46\\r\\nconfigStorePath\\=/evil"
PATHS = ["../../x", "/etc/x", "..\\x", "a/../../b", "..", ".", "%2e%2e%2fx", "~root/x", "x\u2215y", "con", "a" * 255]


def test_settings_that_name_files_are_refused_and_audited(
    tmp_path: Path, reliability_report: ReliabilityReport
) -> None:
    home = tmp_path / "home"
    with under_attack(home, reliability_report, "318 with paths (CVE-2023-33246, CVE-2023-37582)") as server:
        with Client(server.address) as client:
            before = client.ask(Request(code=319)).body
            for binary in (False, True):
                for text in REFUSED:
                    reply = client.ask(Request(code=318, body=text.encode(), binary=binary))
                    assert reply.code == 16, (text, reply)
            assert client.ask(Request(code=319)).body == before
            client.ask(Request(code=318, body=SMUGGLED.encode()))
        server.figures["refused"] = len(REFUSED) * 2
        eventually(lambda: bool(events(home, RequestDenied)), "the denials are in the journal")
        (first, *_) = events(home, RequestDenied)
        assert first.code == 318
        assert (first.peer or "").startswith("127.0.0.1:")
    with serving(home) as again, Client(again.address) as client:
        text = client.ask(Request(code=319)).body.decode()
    assert f"kvConfigPath={home}" in text
    assert "=/evil" not in text.replace("\\n", "\n")
    assert not Path(EVIL).exists()
    assert {path.name for path in tmp_path.iterdir()} == {"home"}


def test_names_that_are_paths_do_not_create_or_read_files(
    tmp_path: Path, reliability_report: ReliabilityReport
) -> None:
    home = tmp_path / "deep" / "deeper" / "home"
    outside = _outside(tmp_path, home)
    with under_attack(home, reliability_report, "paths as names (CVE-2019-17572)") as server:
        with Client(server.address) as client:
            asked = 0
            for number, path in enumerate(PATHS):
                addr = f"127.0.0.1:{20000 + number}"
                for request in (
                    register(topics=[path, "T"], addr=addr, broker=f"b{number}"),
                    register(topics=["T", "U"], addr=addr, broker=path, cluster=path),
                    Request(code=217, ext={"topic": path}, body=b'{"queueDatas":[{"brokerName":"b0"}]}'),
                    Request(code=100, ext={"namespace": path, "key": path, "value": path}),
                    Request(code=105, ext={"topic": path}),
                    Request(code=206, ext={"cluster": path}),
                    Request(code=216, ext={"topic": path}),
                    Request(code=102, ext={"namespace": path, "key": path}),
                ):
                    client.ask(request)
                    asked += 1
        for path in PATHS:
            for page in ("/v1/routes/", "/v1/topics/", "/v1/brokers/", "/v1/kv/", "/", "/assets/"):
                status, body = _get(server, page + path)
                assert status in {200, 400, 404, 405}, (page + path, status)
                assert b"root:" not in body
                asked += 1
        server.figures["requests"] = asked
    assert _outside(tmp_path, home) == outside | {Path("deep"), Path("deep/deeper")}
    strange = [path for path in home.rglob("*") if path.name in {"x", "b", "y", "con", "a" * 255}]
    assert not strange


@pytest.mark.parametrize(
    "path", ["/../../../../etc/passwd", "/..%2f..%2f..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd"]
)
def test_console_does_not_serve_files_outside_its_assets(tmp_path: Path, path: str) -> None:
    with serving(tmp_path, http="127.0.0.1:0") as process:
        status, body = _get(AttackedServer(process, tmp_path), path)
    assert status in {200, 404}
    assert b"root:" not in body


def _get(server: AttackedServer, path: str) -> tuple[int, bytes]:
    quoted = urllib.parse.quote(path, safe="/%")
    try:
        with urllib.request.urlopen(server.process.wait_until_http() + quoted, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read()


def _outside(root: Path, home: Path) -> set[Path]:
    return {path.relative_to(root) for path in root.rglob("*") if home not in (path, *path.parents)}
