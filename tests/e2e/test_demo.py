"""`routebook demo` prints working links, shows a past and a peer, and stops all its processes on SIGINT."""

import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.support.process import Process

PATIENCE_S = 300
COMPARED = {"agrees", "differs", "diverged"}


@pytest.mark.slow
def test_the_demo_shows_the_past_and_a_peer_and_stops(tmp_path: Path) -> None:
    nameserver, http = _free_pair(), _free_pair()
    where = ("--listen", f"127.0.0.1:{nameserver}", "--http", f"127.0.0.1:{http}")
    demo = Process("demo", "--no-lake", "--keep", str(tmp_path / "demo"), *where)
    try:
        link = demo.wait_for_out(r"(http://\S+)/topics/(\S+)\?at=(\d+)", timeout_s=PATIENCE_S)
        console, topic, at_ms = link[1], link[2], int(link[3])
        assert console == f"http://127.0.0.1:{http}"
        demo.wait_for_out("Press ctrl-c to stop")
        with httpx.Client(base_url=console, timeout=PATIENCE_S) as ask:
            now = _eventually(lambda: ask.get(f"/v1/routes/{topic}"), lambda answer: answer.status_code == 200)
            assert now.json()["route"] is not None
            past = _eventually(  # 503 until the history of the simulated days is indexed
                lambda: ask.get(f"/v1/routes/{topic}", params={"at": at_ms}), lambda answer: answer.status_code != 503
            )
            assert past.json()["route"] is None  # its only broker was down
            _eventually(lambda: ask.get("/v1/peers"), lambda answer: answer.json()["peers"][0]["state"] in COMPARED)
        demo.send(signal.SIGINT)
        assert demo.wait() == 0
    finally:
        demo.kill()
    assert demo.log == ""
    assert "demo: " in demo.out
    for port in (nameserver, nameserver + 1, http, http + 1):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def _eventually(ask: Callable[[], httpx.Response], is_done: Callable[[httpx.Response], bool]) -> httpx.Response:
    deadline = time.monotonic() + PATIENCE_S
    while not is_done(answer := ask()):
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.2)
    return answer


def _free_pair() -> int:
    """A port that is free together with the next one."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port
