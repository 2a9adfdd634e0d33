"""Every request code, HTTP path and WebSocket message stays below its ceiling of CPU and memory (`ceilings.py`)."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args

import pytest
from websockets.exceptions import ConnectionClosed

from routebook.handlers import HANDLERS
from routebook.server.http import app
from routebook.server.http.live import messages
from tests.attacks import ceilings, hostile_input
from tests.attacks.announcement_storm import topic_names
from tests.attacks.server_cost import cpu_ns, send_frames
from tests.support.live_console import live_console
from tests.support.process import Process, serving
from tests.support.reliability_report import ReliabilityReport
from tests.support.remoting import Client

TOPICS: Final = 20_000
TIMES: Final = 20
MIB: Final = 1 << 20
PAGE: Final = Path(__file__).parents[2] / "docs" / "security.md"
_PARAMETER: Final = re.compile(r"\{(\w+):str\}")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server with HTTP, and 20,000 topics on one broker."""
    with (
        serving(tmp_path_factory.mktemp("every"), http="127.0.0.1:0") as process,
        Client(process.address) as broker,
    ):
        assert broker.ask(hostile_input.registration(ceilings.LARGE, topic_names(TOPICS))).code == 0
        process.wait_until_http()
        yield process


def endpoints() -> dict[str, None]:
    """Method and path of each endpoint of the HTTP application."""
    found = app._endpoints(*app._API, *app._CONSOLE_API)
    return dict.fromkeys(f"{min(one.http_methods)} {path}" for one in found for path in one.paths)


def test_everything_has_a_ceiling_and_the_page_names_it() -> None:
    assert ceilings.CODES.keys() == {int(code) for code in HANDLERS}
    assert ceilings.PATHS.keys() == endpoints().keys()
    received = messages.decode_watch.__self__.type  # type: ignore[attr-defined]
    assert ceilings.MESSAGES.keys() == {one.__struct_config__.tag for one in get_args(received) or (received,)}
    lines = PAGE.read_text().splitlines()
    assert [row for row in ceilings.table() if row not in lines] == []


def judge(
    report: ReliabilityReport, name: str, ceiling: ceilings.Ceiling, costs: dict[str, tuple[float, int]], grown: int
) -> None:
    """`costs` are CPU milliseconds of one request and its size, by form."""
    worst = max(costs, key=lambda form: costs[form][0] / (ceiling.ms + ceiling.ms_per_kib * costs[form][1] / 1024))
    report.add("ceilings", name, form=worst, ms=round(costs[worst][0], 2), bytes=costs[worst][1], mib=grown // MIB)
    for form, (spent_ms, size) in costs.items():
        limit_ms = ceiling.ms + ceiling.ms_per_kib * size / 1024
        assert spent_ms <= limit_ms, f"{name}, {form}: {spent_ms:.1f} ms of CPU for {size} bytes; limit {limit_ms:.1f}"
    assert grown <= ceiling.mib * MIB, f"{name}: {grown // MIB} MiB more"


@pytest.mark.slow
@pytest.mark.parametrize("code", ceilings.CODES)
def test_request_codes(server: Process, reliability_report: ReliabilityReport, code: int) -> None:
    costs, before = dict[str, tuple[float, int]](), server.resident_bytes()
    for form, request in ceilings.requests_of(code).items():
        data = request.encode()
        began_ns = cpu_ns(server.pid)
        send_frames(server.address, data * TIMES, TIMES)
        costs[form] = (cpu_ns(server.pid) - began_ns) / 1e6 / TIMES, len(data)
    judge(reliability_report, str(code), ceilings.CODES[code], costs, server.resident_bytes() - before)


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", ceilings.PATHS)
def test_http_paths(server: Process, reliability_report: ReliabilityReport, endpoint: str) -> None:
    method, _, path = endpoint.partition(" ")
    host, _, port = server.wait_until_http().removeprefix("http://").partition(":")
    known = {
        "name": ceilings.LARGE,
        "topic": "topic-000001",
        "buckets": "0,1,2",
        "namespace": "n",
        "key": "k",
        "segment": "s",
    }
    costs, before = dict[str, tuple[float, int]](), server.resident_bytes()
    for form, query, body in (
        ("usual", "", b"{}"),
        ("long query", "?q=topic&x=" + "y" * 4000, b"{}"),
        ("60 KiB of JSON", "", b'{"x":[' + b"1," * 30_000 + b"1]}"),
        ("60 KiB of brackets", "", b"[" * (60 << 10)),
    ):
        target = _PARAMETER.sub(lambda found: known[found[1]], path) + query
        head = (
            f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        )
        data = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        began_ns = cpu_ns(server.pid)
        for _ in range(TIMES // 4):
            _http(host, int(port), data, is_stream=path == "/v1/events")
        costs[form] = (cpu_ns(server.pid) - began_ns) / 1e6 / (TIMES // 4), len(data)
    judge(reliability_report, endpoint, ceilings.PATHS[endpoint], costs, server.resident_bytes() - before)


def _http(host: str, port: int, data: bytes, *, is_stream: bool) -> None:
    """Send a request and read its answer, of a stream the beginning."""
    with socket.create_connection((host, port), timeout=60) as link:
        try:
            link.sendall(data)
            while link.recv(1 << 16) and not is_stream:
                pass
        except ConnectionError:
            pass  # the server closed before it had read a rejected body


@pytest.mark.slow
def test_web_socket_messages(server: Process, reliability_report: ReliabilityReport) -> None:
    """An unknown message ends the connection."""
    costs, before = dict[str, tuple[float, int]](), server.resident_bytes()
    names = '["' + "y" * 1000 + '"]'
    forms = {
        "usual": '{"type":"watch","kinds":["broker_up"]}',
        "long names": f'{{"type":"watch","brokers":{names},"topics":{names}}}',
        "unknown": '{"type":"nothing"}',
        "brackets": "[" * 4000,
    }
    for form, text in forms.items():
        with live_console(server.wait_until_http()) as console:
            console.ping()
            times = TIMES if '"watch"' in text else 1
            began_ns = cpu_ns(server.pid)
            for _ in range(times):
                console.say_text(text)
            if times > 1:
                console.ping()
            else:
                with pytest.raises(ConnectionClosed):
                    console.take_all()
            costs[form] = (cpu_ns(server.pid) - began_ns) / 1e6 / times, len(text)
    judge(reliability_report, "watch", ceilings.MESSAGES["watch"], costs, server.resident_bytes() - before)
