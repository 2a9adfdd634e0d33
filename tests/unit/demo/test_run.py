"""The addresses of the demo: the next port for the second NameServer, a free one if a default port is in use."""

import socket

from routebook.demo.run import Ports, choose_ports

DEFAULT = Ports(nameserver="127.0.0.1:9876", http="127.0.0.1:8876")


def test_given_ports_are_used_as_they_are() -> None:
    first, second = choose_ports("0.0.0.0:1000", "127.0.0.1:2000", default=DEFAULT)
    assert first == Ports(nameserver="0.0.0.0:1000", http="127.0.0.1:2000")
    assert second == Ports(nameserver="0.0.0.0:1001", http="127.0.0.1:2001")


def test_a_default_port_in_use_is_replaced() -> None:
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        port = used.getsockname()[1]
        default = Ports(nameserver=f"127.0.0.1:{port}", http="127.0.0.1:8876")
        first, second = choose_ports(None, "127.0.0.1:2000", default=default)
    assert first.nameserver != f"127.0.0.1:{port}"
    assert first.nameserver != second.nameserver
