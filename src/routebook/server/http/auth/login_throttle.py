"""Rate limit for failed logins, per client address. Pure."""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address
from typing import Final

_WINDOW_MS: Final = 60_000
_MAX_ADDRESSES: Final = 10_000


class LoginThrottle:
    """Counts failures of the last minute by address; an IPv6 /64 network counts as one address."""

    def __init__(self, *, max_failures: int) -> None:
        self._max_failures = max_failures
        self._failures: OrderedDict[str, list[int]] = OrderedDict()

    def wait_s(self, host: str, now_ms: int) -> int:
        """Seconds until this address may try again; 0: now."""
        recent = [at_ms for at_ms in self._failures.get(_key(host), ()) if now_ms - at_ms < _WINDOW_MS]
        if len(recent) < self._max_failures:
            return 0
        return max(1, -(-(recent[-self._max_failures] + _WINDOW_MS - now_ms) // 1000))

    def failed(self, host: str, now_ms: int) -> None:
        key = _key(host)
        recent = [at_ms for at_ms in self._failures.pop(key, ()) if now_ms - at_ms < _WINDOW_MS]
        self._failures[key] = [*recent[-self._max_failures :], now_ms]
        if len(self._failures) > _MAX_ADDRESSES:
            self._failures.popitem(last=False)

    def succeeded(self, host: str) -> None:
        self._failures.pop(_key(host), None)


def _key(host: str) -> str:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or int(address) >> 64)
    return str(address)
