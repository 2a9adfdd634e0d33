"""NameServer addresses: `host:port;host:port`, as RocketMQ tools accept them."""

import os
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from routebook.errors import UsageError

DEFAULT_PORT: Final = 9876
ENVIRONMENT: Final = "NAMESRV_ADDR"


class Address(NamedTuple):
    """A host (name, IPv4, or IPv6 without brackets) and a port; `str` gives HOST:PORT."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


Addresses: TypeAlias = str | Address | Iterable[str | Address]


def parse_addresses(given: Addresses) -> tuple[Address, ...]:
    """Parse one or more addresses, without duplicates, in order. In text `;`, `,` and blanks separate them."""
    parts = [given] if isinstance(given, str | Address) else list(given)
    found: dict[Address, None] = {}
    for part in parts:
        if isinstance(part, Address):
            found[part] = None
        else:
            for text in part.replace(",", " ").replace(";", " ").split():
                found[parse_address(text)] = None
    if not found:
        raise UsageError("no NameServer address: write HOST:PORT, or several as HOST:PORT;HOST:PORT")
    return tuple(found)


def parse_address(text: str) -> Address:
    """Parse `host:port`, `host`, `[v6]:port`, or like Java `v6:port`; a leading `http://` is dropped, as in Java."""
    bare = text.strip().removeprefix("http://").rstrip("/")
    if bare.startswith("["):
        host, closed, rest = bare[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")) or not _is_ipv6(host):
            raise UsageError(f"{text!r} is not an address: write an IPv6 host as [::1]:{DEFAULT_PORT}")
        return Address(host, _port(rest[1:], text) if rest else DEFAULT_PORT)
    if bare.count(":") > 1:
        return _unbracketed(bare, text)
    host, colon, port = bare.partition(":")
    if not host or any(char in host for char in "/@?#\\") or not host.isprintable():
        raise UsageError(f"{text!r} is not an address: write HOST:PORT")
    return Address(host, _port(port, text) if colon else DEFAULT_PORT)


def addresses_from_environment(environment: Mapping[str, str] | None = None) -> tuple[Address, ...] | None:
    """Parse NAMESRV_ADDR; None if it is not set or empty."""
    text = (os.environ if environment is None else environment).get(ENVIRONMENT, "")
    return parse_addresses(text) if text.strip() else None


def _unbracketed(bare: str, text: str) -> Address:
    # Java: RemotingHelper.string2SocketAddress takes the text after the last colon as the port
    host, _, port = bare.rpartition(":")
    if _is_ipv6(host):
        return Address(host, _port(port, text))
    if _is_ipv6(bare):
        return Address(bare, DEFAULT_PORT)
    raise UsageError(f"{text!r} is not an address: write HOST:PORT, with IPv6 [::1]:{DEFAULT_PORT}")


def _port(digits: str, text: str) -> int:
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 5 and 0 < int(digits) <= 0xFFFF):
        raise UsageError(f"{text!r} has no valid port: use a number from 1 to 65535")
    return int(digits)


def _is_ipv6(host: str) -> bool:
    from ipaddress import AddressValueError, IPv6Address  # noqa: PLC0415 - rarely needed, slow to import

    try:
        IPv6Address(host)
    except AddressValueError:
        return False
    return True
