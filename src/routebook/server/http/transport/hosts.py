"""Host header check, the defence against DNS rebinding. Pure.

A malicious site can point its own name at this server; the browser then sends that name as Host. So requests for
unknown names are rejected. An IP address cannot be rebound, so requests for any address are accepted.
"""

from collections.abc import Iterable
from ipaddress import ip_address


def allowed_hosts(*names: str, setting: str) -> frozenset[str] | None:
    """Names of this server in lower case, plus those of the comma-separated setting. None: `*`, any name."""
    extra = [name.strip().lower() for name in setting.split(",") if name.strip()]
    return None if "*" in extra else frozenset({"localhost", *(name.lower() for name in names if name), *extra})


def is_allowed_host(host: str, allowed: Iterable[str] | None) -> bool:
    """Whether a Host header, with or without a port, names this server."""
    if allowed is None:
        return True
    name = _without_port(host).lower().rstrip(".")
    return _is_address(name) or name in allowed


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
