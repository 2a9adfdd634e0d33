"""Rate limit for failed logins, per client address and access key. Pure.

A client that guesses secrets does not affect other access keys behind the same proxy. The guesses of one access key
from one address are limited; a guess of an unknown access key cannot succeed.
"""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address
from typing import Final

_WINDOW_MS: Final = 60_000
_MAX_KEYS: Final = 10_000


class LoginThrottle:
    """Counts failures of the last minute; an IPv6 /64 network counts as one address."""

    def __init__(self, *, max_failures: int) -> None:
        self._max_failures = max_failures
        self._failures: OrderedDict[tuple[str, int], list[int]] = OrderedDict()

    def wait_s(self, host: str, access_key: str, now_ms: int) -> int:
        """Seconds until this address may try this access key again; 0: now."""
        recent = [at_ms for at_ms in self._failures.get(_key(host, access_key), ()) if now_ms - at_ms < _WINDOW_MS]
        if len(recent) < self._max_failures:
            return 0
        return max(1, -(-(recent[-self._max_failures] + _WINDOW_MS - now_ms) // 1000))

    def failed(self, host: str, access_key: str, now_ms: int) -> None:
        key = _key(host, access_key)
        recent = [at_ms for at_ms in self._failures.pop(key, ()) if now_ms - at_ms < _WINDOW_MS]
        self._failures[key] = [*recent[-self._max_failures :], now_ms]
        if len(self._failures) > _MAX_KEYS:
            self._failures.popitem(last=False)

    def succeeded(self, host: str, access_key: str) -> None:
        self._failures.pop(_key(host, access_key), None)


def _key(host: str, access_key: str) -> tuple[str, int]:
    return _network(host), hash(access_key)  # a hash: access keys may be long


def _network(host: str) -> str:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or int(address) >> 64)
    return str(address)
