"""A stalled console tab is dropped and blocks neither the server nor other consoles."""

import base64
import os
import socket
from functools import partial
from pathlib import Path

import pytest

from tests.support.live_console import LiveConsole, live_console
from tests.support.process import serving
from tests.support.remoting import Client, put_kv

VALUE = "x" * 900  # about what an event keeps of a value
PER_ROUND = 250  # a third of a megabyte
MOST_ROUNDS = 80


def stalled_console(url: str) -> socket.socket:
    """A WebSocket client that reads nothing after the handshake."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.settimeout(20)
    peer.connect((host, int(port)))
    key = base64.b64encode(os.urandom(16)).decode()
    peer.sendall(
        f"GET /v1/live HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
    )
    received = b""
    while b"\r\n\r\n" not in received:
        received += peer.recv(1)
    assert received.startswith(b"HTTP/1.1 101 ")
    return peer


@pytest.mark.slow
def test_a_stalled_tab_is_dropped_and_does_not_block_others(tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0") as ns, Client(ns.address) as writer:
        url = ns.wait_until_http()
        with live_console(url) as other, stalled_console(url) as stalled:
            other.until(lambda: other.overview["consoles"] == 2)
            rounds = 0
            while other.overview["consoles"] == 2 and rounds < MOST_ROUNDS:
                write_and_see(writer, other, f"{rounds} ")
                rounds += 1
            # the server queued less for it than was sent until then
            other.until(lambda: other.overview["consoles"] == 1)
            write_and_see(writer, other, "after it ")
            read_to_the_end(stalled)
        with live_console(url) as again:
            assert again.hello["seq"] > rounds * PER_ROUND


def write_and_see(writer: Client, console: LiveConsole, begins: str) -> None:
    """Make changes; the server responds and the other console gets the last one."""
    frames = [put_kv(f"k{index}", f"{begins}{VALUE}", opaque=index) for index in range(PER_ROUND)]
    writer.send_chunks([b"".join(frame.encode() for frame in frames)])
    assert {reply.code for reply in writer.receive_many(PER_ROUND)} == {0}
    console.until(partial(has_seen, console, begins))


def has_seen(console: LiveConsole, value: str) -> bool:
    """Discard messages until the last one of a round has arrived."""
    del console.events[:-1]
    return bool(console.events) and str(console.events[-1]["fields"]["after"]).startswith(value)


def read_to_the_end(peer: socket.socket) -> None:
    """Read what was sent before the server closed the connection."""
    try:
        while peer.recv(1 << 20):
            pass
    except ConnectionResetError:
        pass
