"""Ceilings of inputs that once occupied the server for seconds, in CPU seconds or bytes of the server process."""

import contextlib
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.attacks import hostile_input
from tests.attacks.server_cost import ServerCost, cost_of, loop_seconds, send_frames, wait_until_quiet
from tests.support.identities import write_identities
from tests.support.process import Process, serving
from tests.support.reliability_report import ReliabilityReport
from tests.support.remoting import Client, put_kv, register
from tests.support.remoting_frames import Request

TOPICS: Final = 100_000
MIB: Final = 1 << 20
PIPELINED: Final = 128

Check = Callable[..., ServerCost]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server with one small broker."""
    with serving(tmp_path_factory.mktemp("small")) as process, Client(process.address) as broker:
        assert broker.ask(register(broker="small")).code == 0
        yield process


@pytest.fixture(scope="module")
def with_identities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server with HTTP and authentication."""
    home = tmp_path_factory.mktemp("with_identities")
    settings = {"routebook.auth.file": write_identities(home)}
    with serving(home, http="127.0.0.1:0", settings=settings) as process:
        yield process


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server with 100,000 topics on one broker."""
    names = [f"T{number:06d}" for number in range(TOPICS)]
    with serving(tmp_path_factory.mktemp("large")) as process, Client(process.address) as broker:
        assert broker.ask(hostile_input.registration("large", names, flag=3)).code == 0
        yield process


@pytest.fixture
def check(reliability_report: ReliabilityReport) -> Check:
    """Measure an attack, report it, and fail above its ceiling."""

    def measure(
        process: Process, attack: Callable[[], object], *, name: str, cpu_s: float, mib: float = 64, repeat: int = 2
    ) -> ServerCost:
        spent = cost_of(process, attack, repeat=repeat)
        grown = round(spent.grown_bytes / MIB, 1)
        reliability_report.add("costs", name, cpu_s=round(spent.cpu_s, 3), cpu_limit_s=cpu_s, mib=grown, mib_limit=mib)
        assert spent.cpu_s <= cpu_s, f"{name}: {spent.cpu_s:.2f} s of CPU, the ceiling is {cpu_s} s"
        assert grown <= mib, f"{name}: {grown} MiB, the ceiling is {mib} MiB"
        return spent

    return measure


def _send(process: Process, data: bytes, answers: int = 1) -> None:
    send_frames(process.address, data, answers)


def test_a_small_frame_that_inflates_to_a_loose_data_version(server: Process, check: Check) -> None:
    version = hostile_input.loose_data_version(4 * MIB)
    request = hostile_input.deflated_registration(broker="inflates", data_version=version).encode()
    assert len(request) < 16 << 10
    check(server, lambda: _send(server, request), name="103 with 4 MiB of loose DataVersion, deflated", cpu_s=0.1)


def test_a_header_with_objects_in_its_fields(server: Process, check: Check) -> None:
    data = hostile_input.header_with_objects(768 << 10)
    check(server, lambda: _send(server, data), name="JSON header of 768 KiB with objects", cpu_s=0.05)


def test_a_topic_registration_in_loose_json(server: Process, check: Check) -> None:
    request = Request(code=217, ext={"topic": "T"}, body=hostile_input.loose_route(2 * MIB)).encode()
    check(server, lambda: _send(server, request), name="217 with 2 MiB of loose JSON", cpu_s=0.1)


@pytest.mark.parametrize("code", [311, 312, 313, 224, 206])
def test_pipelined_lists_of_all_topics(large: Process, check: Check, code: int) -> None:
    request = Request(code=code, ext={"cluster": "hostile"}).encode()
    data = request * PIPELINED
    check(large, lambda: _send(large, data, PIPELINED), name=f"{PIPELINED} pipelined {code}", cpu_s=0.3, repeat=3)


def test_permissions_of_a_broker_with_all_topics(large: Process, check: Check) -> None:
    wipe, restore = (Request(code=code, ext={"brokerName": "large"}).encode() for code in (205, 327))

    def switch() -> None:
        with Client(large.address) as client:
            for _ in range(5):
                for request in (wipe, restore):
                    client.send(request)
                    assert client.receive() is not None

    check(large, switch, name="ten 205/327", cpu_s=0.6)


@pytest.mark.parametrize("path", ["/healthz", "/v1/session"])
def test_a_long_cookie(with_identities: Process, check: Check, path: str) -> None:
    host, _, port = with_identities.wait_until_http().removeprefix("http://").partition(":")
    cookie = hostile_input.quoted_cookie(31_000)
    head = b"GET %b HTTP/1.1\r\nHost: localhost\r\nCookie: %b\r\nConnection: close\r\n\r\n"

    def request() -> None:
        for _ in range(10):
            with socket.create_connection((host, int(port)), timeout=60) as one:
                one.sendall(head % (path.encode(), cookie))
                while one.recv(1 << 16):
                    pass

    check(with_identities, request, name=f"ten requests of {path} with a 31 KB cookie", cpu_s=0.2)


@pytest.mark.parametrize(
    ("announced", "sent", "settings"),
    [(0xFFFF, 48 << 10, {}), (16_000, 15_000, {}), (16_000, 15_000, {"routebook.limits.bufferBytes": 4 * MIB})],
)
def test_unfinished_proxy_headers(
    tmp_path: Path, check: Check, announced: int, sent: int, settings: dict[str, object]
) -> None:
    """They count against the memory of all connections: beyond it, the server closes the largest."""
    header, count = hostile_input.unfinished_proxy_header(announced=announced, sent=sent), 1000
    with serving(tmp_path, settings=settings) as process, contextlib.ExitStack() as opened:

        def attack() -> None:
            for _ in range(count):
                one = opened.enter_context(socket.create_connection(process.address, timeout=60))
                with contextlib.suppress(ConnectionError):
                    one.sendall(header)

        name = f"{count} unfinished PROXY headers of {sent} bytes"
        check(process, attack, name=name, cpu_s=2.0, mib=12 if settings else 24, repeat=1)


def test_small_kv_writes_beside_a_large_table(tmp_path: Path, reliability_report: ReliabilityReport) -> None:
    """The file of 96 MiB is encoded and written by a thread, twice: the event loop spends milliseconds per request."""
    table = {"big": {f"key-{number:06d}": "v" * 1000 for number in range(96 * 1024)}}
    (tmp_path / "kvConfig.json").write_text(json.dumps({"configTable": table}))
    settings = {"kvConfigPath": tmp_path / "kvConfig.json", "routebook.limits.kvBytes": 0}
    with serving(tmp_path, settings=settings) as process:
        wait_until_quiet(process)
        before, puts = loop_seconds(process), 60
        with Client(process.address) as client:
            data = [put_kv(f"k{number}", "v", opaque=number).encode() for number in range(puts)]
            client.send(b"".join(data))
            assert [reply.code for reply in client.receive_many(puts)] == [0] * puts
        spent = loop_seconds(process) - before
    reliability_report.add("costs", f"{puts} KV puts beside 96 MiB", loop_cpu_s=round(spent, 3), cpu_limit_s=0.5)
    assert spent <= 0.5


def test_deeply_nested_json_is_a_bad_request(with_identities: Process) -> None:
    body = b"[" * 10_000
    url = with_identities.wait_until_http() + "/v1/session"
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(request, timeout=60)
    raised.value.close()
    assert raised.value.code == 400
