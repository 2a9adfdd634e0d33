"""Many connections: idle, slow, or gone again at once. Look-ups are answered meanwhile."""

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

from tests.attacks.victim import Victim, under_attack
from tests.support.ledger import Ledger
from tests.support.remoting import Client, eventually
from tests.support.remoting_frames import Request

IDLE = 10_000
SPARE_FILES = 600
SLOW = 300
FLOOD = 3_000
MOST_FLOOD = 20_000  # a machine has no more ports for them
PATIENCE_S = 60.0


@contextmanager
def crowd(address: tuple[str, int], count: int) -> Iterator[list[socket.socket]]:
    """So many connections."""
    members: list[socket.socket] = []
    try:
        for _ in range(count):
            members.append(socket.create_connection(address, timeout=20))  # noqa: PERF401  closed one by one
        yield members
    finally:
        for member in members:
            member.close()


def most_connections(wanted: int) -> int:
    """As many as this process may have, and the server, which inherits its limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < min(hard, wanted + SPARE_FILES):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, wanted + SPARE_FILES), hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(wanted, soft - SPARE_FILES)


@pytest.mark.slow
def test_idle_connections(tmp_path: Path, ledger: Ledger) -> None:
    count = most_connections(IDLE)
    with under_attack(tmp_path, ledger, "idle connections") as victim:
        with crowd(victim.address, count) as members, Client(victim.address) as one_more:
            assert one_more.ask(Request(code=9998)).code == 3
            for member in (members[0], members[-1]):
                member.sendall(Request(code=9998).encode())
                assert member.recv(4)
            victim.figures["connections"] = count
        eventually(lambda: _open_files(victim) < SPARE_FILES, "the server has let them go")


@pytest.mark.slow
def test_slow_senders_of_frames(tmp_path: Path, ledger: Ledger) -> None:
    settings = {"routebook.limits.frameSeconds": 2, "routebook.limits.firstRequestSeconds": 3}
    request = Request(code=105, ext={"topic": "x" * 300}).encode()
    with (
        under_attack(tmp_path, ledger, "slow loris, NameServer port", settings=settings) as victim,
        crowd(victim.address, SLOW) as members,
    ):
        victim.figures |= {"connections": SLOW, "closed": _drip(members, request)}


@pytest.mark.slow
def test_slow_senders_of_http(tmp_path: Path, ledger: Ledger) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"x" * 300
    with under_attack(tmp_path, ledger, "slow loris, HTTP port") as victim:
        host, _, port = victim.process.wait_until_http().removeprefix("http://").partition(":")
        with (
            crowd((host, int(port)), SLOW) as members,
            socket.create_connection((host, int(port)), timeout=20) as quick,
        ):
            quick.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert quick.recv(1 << 16).startswith(b"HTTP/1.1 200")
            victim.figures |= {"connections": SLOW, "closed": _drip(members, request)}


@pytest.mark.slow
def test_a_flood_of_connections(tmp_path: Path, ledger: Ledger, pytestconfig: pytest.Config) -> None:
    count = min(MOST_FLOOD, int(FLOOD * pytestconfig.getoption("--attack-scale")))
    with under_attack(tmp_path, ledger, "connection flood") as victim:
        for number in range(count):
            with socket.create_connection(victim.address, timeout=20) as one, contextlib.suppress(ConnectionError):
                match number % 3:
                    case 0:  # reset
                        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    case 1:  # half a frame
                        one.sendall(b"\0\0\0\x50\0\0\0")
                    case _:  # a request, and no time for its answer
                        one.sendall(Request(code=106).encode())
        victim.figures["connections"] = count
        eventually(lambda: _open_files(victim) < SPARE_FILES, "the server has let them go")


def _drip(members: list[socket.socket], request: bytes) -> int:
    """A byte of each now and then, never all: until the server has closed every one. How many it closed."""
    selector = selectors.DefaultSelector()
    for member in members:
        member.setblocking(False)
        selector.register(member, selectors.EVENT_READ)
    sent, deadline, closed = 0, time.monotonic() + PATIENCE_S, 0
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


def _open_files(victim: Victim) -> int:
    return len(list(Path(f"/proc/{victim.process.pid}/fd").iterdir()))
