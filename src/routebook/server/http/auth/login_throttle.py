"""How often a login may fail: so many times a minute for each address, then one waits. Pure."""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address
from typing import Final

_WINDOW_MS: Final = 60_000
_MOST_ADDRESSES: Final = 10_000


class Attempts:
    """Failures of the last minute, by address; an IPv6 network of /64 counts as one."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._failed: OrderedDict[str, list[int]] = OrderedDict()

    def wait_s(self, host: str, now_ms: int) -> int:
        """For how long this address has to wait; 0: not at all."""
        recent = [at_ms for at_ms in self._failed.get(_place(host), ()) if now_ms - at_ms < _WINDOW_MS]
        if len(recent) < self._most:
            return 0
        return max(1, -(-(recent[-self._most] + _WINDOW_MS - now_ms) // 1000))

    def failed(self, host: str, now_ms: int) -> None:
        place = _place(host)
        recent = [at_ms for at_ms in self._failed.pop(place, ()) if now_ms - at_ms < _WINDOW_MS]
        self._failed[place] = [*recent[-self._most :], now_ms]
        if len(self._failed) > _MOST_ADDRESSES:
            self._failed.popitem(last=False)

    def succeeded(self, host: str) -> None:
        self._failed.pop(_place(host), None)


def _place(host: str) -> str:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or int(address) >> 64)
    return str(address)
