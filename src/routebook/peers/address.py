"""The address of a peer in the settings: HOST:PORT, or HOST:PORT/HTTP-PORT for a Routebook. Pure."""

import msgspec

from routebook.client.addresses import Address, parse_address


class PeerAddress(msgspec.Struct, frozen=True):
    """The NameServer address of a peer, and its HTTP port if it is a Routebook."""

    remoting: Address
    http_port: int | None = None

    def __str__(self) -> str:
        return str(self.remoting)


def parse_peer(text: str) -> PeerAddress:
    """Parse `10.0.0.2:9876` or `10.0.0.2:9876/8876`, which the settings have validated."""
    address, slash, port = text.partition("/")
    return PeerAddress(parse_address(address), int(port) if slash else None)
