"""The listening socket, and the errors if it cannot be opened."""

import os
import socket

import pytest

from routebook.errors import ListenError
from routebook.server.net.listeners import find_listener, open_socket


def test_port_0_selects_a_free_port() -> None:
    with open_socket("127.0.0.1", 0) as sock:
        assert sock.getsockname()[1] > 0
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
        assert not sock.getblocking()


def test_buffer_sizes_are_inherited_by_connections() -> None:
    with (
        open_socket("127.0.0.1", 0, receive_bytes=20_000, send_bytes=30_000) as sock,
        socket.create_connection(sock.getsockname()),
    ):
        sock.settimeout(10)
        accepted, _ = sock.accept()
        with accepted:
            # Linux doubles what is asked for
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) in {20_000, 40_000}
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) in {30_000, 60_000}


def test_the_error_names_the_process_that_uses_the_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = find_listener(port)
        assert found is not None
        assert found.startswith(f"process {os.getpid()} (")
        with pytest.raises(ListenError, match=rf"127\.0\.0\.1:{port}: the port is in use by process {os.getpid()}"):
            open_socket("127.0.0.1", port)


def test_an_unused_port_has_no_listener() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    assert find_listener(port) is None


@pytest.mark.parametrize(
    ("host", "why"),
    [("192.0.2.1", "this machine does not have the address"), ("no such host", "the host name is unknown")],
)
def test_invalid_hosts(host: str, why: str) -> None:
    with pytest.raises(ListenError, match=why):
        open_socket(host, 0)
