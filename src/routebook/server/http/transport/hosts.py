"""Which names in a Host header are ours. Pure.

A page of somebody else's site can make a browser ask this server if that site's name is made to point here (DNS
rebinding); the Host header then bears that name. So a request by a name that is not ours is refused. An address
cannot be rebound: requests by any address are fine.
"""

from collections.abc import Iterable
from ipaddress import ip_address


def known_hosts(*names: str, more: str) -> frozenset[str] | None:
    """Our names in lower case; `more` is what the setting says, parted by commas. None: any name is fine."""
    extra = [name.strip().lower() for name in more.split(",") if name.strip()]
    return None if "*" in extra else frozenset({"localhost", *(name.lower() for name in names if name), *extra})


def is_ours(host: str, known: Iterable[str] | None) -> bool:
    """Whether a Host header names this server, with or without a port."""
    if known is None:
        return True
    name = _without_port(host).lower().rstrip(".")
    return _is_address(name) or name in known


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
