"""Free TCP ports for servers whose port must be known before they start.

The ports are below the range from which Linux takes the local ports of outgoing connections (32768 on, by default), so
no connection can take one between its choice and the start of the server.
"""

import random
import socket
from collections.abc import Sequence
from typing import Final

_RANGE: Final = range(10_002, 32_760)  # five digits, with room for offsets
_random: Final = random.SystemRandom()  # pytest-randomly gives all processes the same seed
_chosen: Final[set[int]] = set()


def free_port(*offsets: int, hosts: Sequence[str] = ("127.0.0.1",)) -> int:
    """A port that is free on all hosts, together with the ports at these offsets from it; never the same one twice."""
    while True:
        port = _random.choice(_RANGE)
        ports = {port, *(port + offset for offset in offsets)}
        if _chosen.isdisjoint(ports) and all(_is_free(host, one) for host in hosts for one in ports):
            _chosen.update(ports)
            return port


def is_listening(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as trial:
        try:
            trial.bind((host, port))
        except OSError:
            return False
        return True
