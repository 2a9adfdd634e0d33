"""Same-origin check, the defence against cross-site requests. Pure.

Browsers send the origin of the requesting page (`Origin`, newer ones also `Sec-Fetch-Site`); other clients send
neither. hosts.py has checked the Host header before.
"""

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

_DEFAULT_PORTS: Final = {"http": ":80", "ws": ":80", "https": ":443", "wss": ":443"}


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
