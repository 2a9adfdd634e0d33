"""A peer as the settings name it: HOST:PORT, or HOST:PORT/HTTP-PORT of a Routebook. Pure."""

import msgspec

from routebook.client.addresses import Address, parse_address


class PeerAddress(msgspec.Struct, frozen=True):
    """Where a peer is asked as any NameServer, and where as a Routebook, if it is known to be one."""

    remoting: Address
    http_port: int | None = None

    def __str__(self) -> str:
        return str(self.remoting)


def parse_peer(text: str) -> PeerAddress:
    """`10.0.0.2:9876` or `10.0.0.2:9876/8876`; the settings have checked it."""
    address, slash, port = text.partition("/")
    return PeerAddress(parse_address(address), int(port) if slash else None)
