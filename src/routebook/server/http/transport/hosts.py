"""Checks of the Host and Origin headers. Pure.

Host, against DNS rebinding: a malicious site can point its own name at this server; the browser then sends that name
as Host. So requests for unknown names are rejected. An IP address cannot be rebound, so any address is accepted.

Origin, against cross-site requests: browsers send the origin of the requesting page (`Origin`, newer ones also
`Sec-Fetch-Site`); other clients send neither.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

_HOST: Final = re.compile(r"(?:\[(?P<bracketed>[^\[\]]+)\]|(?P<name>[^\[\]:]*))(?::\d*)?", re.ASCII)
_DEFAULT_PORTS: Final = {"http": ":80", "ws": ":80", "https": ":443", "wss": ":443"}


def allowed_hosts(*names: str, setting: str) -> frozenset[str] | None:
    """Names of this server in lower case, plus those of the comma-separated setting. None: `*`, any name."""
    extra = [name.strip().lower() for name in setting.split(",") if name.strip()]
    return None if "*" in extra else frozenset({"localhost", *(name.lower() for name in names if name), *extra})


def is_allowed_host(host: str, allowed: Iterable[str] | None) -> bool:
    """Whether a Host header, with or without a port, names this server."""
    if allowed is None:
        return True
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = (found["bracketed"] or found["name"]).lower().rstrip(".")
    return _is_address(name) or name in allowed


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_same_origin(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """False if a page of another site sends the request. Ignores the scheme: a proxy may terminate TLS."""
    values: dict[bytes, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value.decode("latin-1").strip())
    if values.get(b"sec-fetch-site", ["same-origin"]) not in (["same-origin"], ["none"]):
        return False
    origins = values.get(b"origin")
    if origins is None:
        return True
    hosts = values.get(b"host", [])
    if len(origins) != 1 or len(hosts) != 1:
        return False
    try:
        origin = urlsplit(origins[0])
    except ValueError:
        return False
    port = _DEFAULT_PORTS.get(origin.scheme)
    if port is None or not origin.netloc:
        return False
    return origin.netloc.lower().removesuffix(port) == hosts[0].lower().removesuffix(port)
