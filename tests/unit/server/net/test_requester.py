"""The peer of a connection: addresses, hosts and PROXY headers."""

from collections import defaultdict
from ipaddress import ip_network

import pytest

from routebook.access.identity import Network
from routebook.errors import ProtocolError
from routebook.handlers import Caller
from routebook.server.net.limits import Limits
from routebook.server.net.requester import Requester, format_address, host_of
from routebook.settings import Settings

SOURCE = "203.0.113.9:40000"
PROXIES = (ip_network("10.0.0.0/8"),)


def limits() -> Limits:
    return Limits(Settings.build().limits, exceeded=defaultdict(int), time=lambda: 0.0)


def requester(counted: Limits) -> Requester:
    host = counted.enter("10.0.0.1")
    assert host is not None
    return Requester(Caller(1, "10.0.0.1:5000"), host)


@pytest.mark.parametrize(
    ("peername", "address", "host"),
    [
        (("10.0.0.1", 5000), "10.0.0.1:5000", "10.0.0.1"),
        (("::1", 5000, 0, 0), "[::1]:5000", "::1"),
        (None, "unknown", "unknown"),
    ],
)
def test_addresses(peername: object, address: str, host: str) -> None:
    assert format_address(peername) == address
    assert host_of(address) == host


@pytest.mark.parametrize(
    ("proxies", "has_auth", "host", "address"),
    [
        (PROXIES, True, "203.0.113.9", SOURCE),  # trusted: limits and authorization use it
        (PROXIES, False, "203.0.113.9", SOURCE),
        ((), False, "10.0.0.1", SOURCE),  # not trusted: for logs only
        ((), True, "10.0.0.1", "10.0.0.1:5000"),
    ],
)
def test_a_proxy_header_counts_if_the_proxy_is_trusted(
    proxies: tuple[Network, ...], has_auth: bool, host: str, address: str
) -> None:
    counted = limits()
    peer = requester(counted)
    peer.set_source(SOURCE, limits=counted, proxies=proxies, has_auth=has_auth)
    assert (peer.host.name, peer.address) == (host, address)
    assert set(counted.hosts) == {host}
    assert counted.connections == 1


def test_a_proxied_host_may_exceed_its_limit() -> None:
    counted = limits()
    peer = requester(counted)
    counted._max_per_host = 1
    assert counted.enter("203.0.113.9") is not None
    with pytest.raises(ProtocolError, match="too many connections"):
        peer.set_source(SOURCE, limits=counted, proxies=PROXIES, has_auth=False)
