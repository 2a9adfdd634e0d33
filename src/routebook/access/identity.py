"""An authenticated identity and its rights; contains no secret."""

from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

import msgspec

from routebook.access.classes import Access

Network: TypeAlias = IPv4Network | IPv6Network


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A name and its rights. `access` contains the included classes, too.

    `clusters`, `brokers` and `topics` limit changes, not reads; None means no limit. Without networks all addresses are
    allowed. `credentials` changes with the access key, the secret and the certificates; it is a keyed hash that
    reveals none.
    """

    name: str
    access: frozenset[Access]
    clusters: frozenset[str] | None = None
    brokers: frozenset[str] | None = None
    topics: tuple[str, ...] | None = None  # patterns, see topic_ownership
    networks: tuple[Network, ...] = ()
    credentials: int = 0

    def may(self, access: Access) -> bool:
        return access in self.access

    @property
    def is_limited(self) -> bool:
        """Whether it may change only some clusters, brokers or topics."""
        return self.clusters is not None or self.brokers is not None or self.topics is not None

    def allows_host(self, host: str) -> bool:
        """Whether it may connect from this address."""
        return not self.networks or is_within(host, self.networks)


def is_within(host: str, networks: tuple[Network, ...]) -> bool:
    """Whether one of the networks contains this address; an IPv4-mapped IPv6 address counts as IPv4."""
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in network for network in networks)
