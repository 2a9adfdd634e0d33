"""Many connections: idle, slow, or closed at once. Look-ups of other clients are answered meanwhile."""

import contextlib
import resource
import selectors
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.attacks.attacked_server import AttackedServer, under_attack
from tests.support.reliability_report import ReliabilityReport
from tests.support.remoting import Client, eventually
from tests.support.remoting_frames import Request

IDLE = 10_000
SPARE_FILES = 600
SLOW = 300
FLOOD = 3_000
MAX_FLOOD = 20_000  # limited by the ephemeral ports of a machine
CLOSE_TIMEOUT_S = 60.0


@contextmanager
def connections(address: tuple[str, int], count: int) -> Iterator[list[socket.socket]]:
    members: list[socket.socket] = []
    try:
        for _ in range(count):
            members.append(socket.create_connection(address, timeout=20))  # noqa: PERF401  closed one by one
        yield members
    finally:
        for member in members:
            member.close()


def available_connections(wanted: int) -> int:
    """`wanted`, or as many as the file limit permits, which the server inherits from this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < min(hard, wanted + SPARE_FILES):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, wanted + SPARE_FILES), hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(wanted, soft - SPARE_FILES)


@pytest.mark.slow
def test_ten_thousand_idle_connections_do_not_delay_others(
    tmp_path: Path, reliability_report: ReliabilityReport
) -> None:
    count = available_connections(IDLE)
    with under_attack(tmp_path, reliability_report, "idle connections") as server:
        with connections(server.address, count) as members, Client(server.address) as one_more:
            assert one_more.ask(Request(code=9998)).code == 3
            for member in (members[0], members[-1]):
                member.sendall(Request(code=9998).encode())
                assert member.recv(4)
            server.figures["connections"] = count
        eventually(lambda: _open_files(server) < SPARE_FILES, "the server closed all of them")


@pytest.mark.slow
def test_slow_senders_of_frames_are_closed(tmp_path: Path, reliability_report: ReliabilityReport) -> None:
    settings = {"routebook.limits.frameSeconds": 2, "routebook.limits.firstRequestSeconds": 3}
    request = Request(code=105, ext={"topic": "x" * 300}).encode()
    with (
        under_attack(tmp_path, reliability_report, "slow loris, NameServer port", settings=settings) as server,
        connections(server.address, SLOW) as members,
    ):
        server.figures |= {"connections": SLOW, "closed": _drip(members, request)}


@pytest.mark.slow
def test_slow_senders_of_http_requests_are_closed(tmp_path: Path, reliability_report: ReliabilityReport) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"x" * 300
    with under_attack(tmp_path, reliability_report, "slow loris, HTTP port") as server:
        host, _, port = server.process.wait_until_http().removeprefix("http://").partition(":")
        with (
            connections((host, int(port)), SLOW) as members,
            socket.create_connection((host, int(port)), timeout=20) as quick,
        ):
            quick.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert quick.recv(1 << 16).startswith(b"HTTP/1.1 200")
            server.figures |= {"connections": SLOW, "closed": _drip(members, request)}


@pytest.mark.slow
def test_a_flood_of_short_connections_leaks_no_file(
    tmp_path: Path, reliability_report: ReliabilityReport, pytestconfig: pytest.Config
) -> None:
    count = min(MAX_FLOOD, int(FLOOD * pytestconfig.getoption("--attack-scale")))
    with under_attack(tmp_path, reliability_report, "connection flood") as server:
        for number in range(count):
            with socket.create_connection(server.address, timeout=20) as one, contextlib.suppress(ConnectionError):
                match number % 3:
                    case 0:  # reset
                        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    case 1:  # half a frame
                        one.sendall(b"\0\0\0\x50\0\0\0")
                    case _:  # a request; the connection closes before the answer
                        one.sendall(Request(code=106).encode())
        server.figures["connections"] = count
        eventually(lambda: _open_files(server) < SPARE_FILES, "the server closed all of them")


def _drip(members: list[socket.socket], request: bytes) -> int:
    """Send single bytes, never a whole request, until the server has closed every connection; return their number."""
    selector = selectors.DefaultSelector()
    for member in members:
        member.setblocking(False)
        selector.register(member, selectors.EVENT_READ)
    sent, deadline, closed = 0, time.monotonic() + CLOSE_TIMEOUT_S, 0
    while selector.get_map() and time.monotonic() < deadline:
        for key, _ in selector.select(0.5):
            with contextlib.suppress(ConnectionError):
                assert socket.socket.recv(key.fileobj, 1 << 16) == b""  # type: ignore[arg-type]
            selector.unregister(key.fileobj)
            closed += 1
        for key in list(selector.get_map().values()):
            with contextlib.suppress(ConnectionError, BlockingIOError):
                socket.socket.send(key.fileobj, request[sent : sent + 1])  # type: ignore[arg-type]
        sent = min(sent + 1, len(request) - 2)
    selector.close()
    assert closed == len(members), f"{closed} of {len(members)} were closed"
    return closed


def _open_files(server: AttackedServer) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
