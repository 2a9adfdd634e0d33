"""Random mutations of valid frames and HTTP requests: 50,000 by default, a million with `--attack-scale 20`."""

import contextlib
import random
import socket
from itertools import islice
from pathlib import Path

import pytest

from routebook.errors import ProtocolError
from routebook.wire.peer import Peer
from tests.attacks.attacked_server import under_attack
from tests.fuzz.mutation import framed, mutations, seeds
from tests.support.reliability_report import ReliabilityReport
from tests.support.remoting import Client
from tests.support.remoting_frames import Request

FRAMES = 50_000
AT_ONCE = 20  # frames per connection, before one that ends it
HTTP_REQUESTS = 1_500
SETTINGS = {"routebook.journal.commitMillis": 0}  # some are admin writes, whose replies wait for the disk


@pytest.mark.slow
def test_random_frames_leave_the_server_working(
    tmp_path: Path, reliability_report: ReliabilityReport, pytestconfig: pytest.Config
) -> None:
    count = int(FRAMES * pytestconfig.getoption("--attack-scale"))
    chance = random.Random(pytestconfig.getoption("--fuzz-seed"))
    whole, ending = _pools(count, chance)
    with under_attack(tmp_path, reliability_report, "random frames", settings=SETTINGS) as server:
        closed, sent = 0, 0
        while sent < count:
            batch = [*chance.choices(whole, k=AT_ONCE), chance.choice(ending)]
            with socket.create_connection(server.address, timeout=20) as one:
                closed += _is_closed_after(one, b"".join(batch))
            sent += len(batch)
            if chance.random() < 0.02:
                with Client(server.address) as next_one:
                    assert next_one.ask(Request(code=9998)).code == 3
        server.figures |= {"frames": sent, "connections_closed": closed}


@pytest.mark.slow
def test_random_http_requests_leave_the_server_working(
    tmp_path: Path, reliability_report: ReliabilityReport, pytestconfig: pytest.Config
) -> None:
    count = int(HTTP_REQUESTS * pytestconfig.getoption("--attack-scale"))
    inputs = mutations(seeds("http"), random.Random(pytestconfig.getoption("--fuzz-seed")))
    with under_attack(tmp_path, reliability_report, "random HTTP") as server:
        host, _, port = server.process.wait_until_http().removeprefix("http://").partition(":")
        for number, data in enumerate(islice(inputs, count)):
            with (
                socket.create_connection((host, int(port)), timeout=20) as one,
                contextlib.suppress(OSError),
            ):
                one.sendall(data)
                one.shutdown(socket.SHUT_WR)
                one.settimeout(0.05)
                one.recv(1 << 16)
            if number % 100 == 0:
                with socket.create_connection((host, int(port)), timeout=20) as next_one:
                    next_one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    assert next_one.recv(1 << 16).startswith(b"HTTP/1.1 200")
        server.figures["requests"] = count


def _pools(count: int, chance: random.Random) -> tuple[list[bytes], list[bytes]]:
    """Frames that keep the connection open (one for every ten that are sent), and frames that end it.

    Nine of ten mutations end a connection, and the server ignores what follows them.
    """
    whole: list[bytes] = []
    ending: list[bytes] = []
    for data in mutations(seeds("frames"), chance):
        frame = framed(data) if chance.random() < 0.9 else data
        if _is_whole(frame):
            whole.append(frame)
        elif len(ending) < len(whole):
            ending.append(frame)
        if len(whole) >= count // 10:
            break
    return whole, ending


def _is_whole(frame: bytes) -> bool:
    peer = Peer()
    peer.feed(frame)
    with contextlib.suppress(ProtocolError):
        while peer.next_command() is not None:
            pass
        return not peer.buffered
    return False


def _is_closed_after(one: socket.socket, data: bytes) -> bool:
    """Send everything and read the replies; whether the server closed the connection."""
    one.settimeout(0.01)
    with contextlib.suppress(TimeoutError):
        try:
            one.sendall(data)
            while one.recv(1 << 18):
                pass
        except ConnectionError:
            pass
        return True
    return False
