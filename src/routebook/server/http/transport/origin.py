"""Whether a request comes from a page of this server. Pure.

Browsers say where a page that asks is from (`Origin`, and newer ones `Sec-Fetch-Site`); what has neither is no browser.
The name that a request was sent to (`Host`) is known to be ours by then: see hosts.py.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": ":80", "ws": ":80", "https": ":443", "wss": ":443"}


def is_same_origin(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """False if a page of another site asks. Schemes are not compared: TLS may end before this server."""
    said: dict[bytes, list[str]] = {}
    for name, value in headers:
        said.setdefault(name.lower(), []).append(value.decode("latin-1").strip())
    if said.get(b"sec-fetch-site", ["same-origin"]) not in (["same-origin"], ["none"]):
        return False
    origins = said.get(b"origin")
    if origins is None:
        return True
    hosts = said.get(b"host", [])
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
