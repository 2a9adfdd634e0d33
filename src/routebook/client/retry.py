"""Failover: the order of addresses, and the time for each attempt."""

from collections.abc import Sequence

from routebook.client.addresses import Address
from routebook.errors import ConnectionFailed


class Rotation:
    """A ring of addresses with the one that is tried first. Java: NettyRemotingClient.namesrvAddrChoosed."""

    def __init__(self, addresses: Sequence[Address], *, shuffle: bool) -> None:
        self._ring = list(addresses)
        if shuffle and len(self._ring) > 1:  # like Java: spreads many clients with one list
            from random import shuffle as mix  # noqa: PLC0415 - slow to import, not needed for one address

            mix(self._ring)
        self._first = 0

    @property
    def chosen(self) -> Address:
        """The address that is tried first."""
        return self._ring[self._first]

    def order(self) -> list[Address]:
        """Return each address once, starting with the chosen one."""
        return self._ring[self._first :] + self._ring[: self._first]

    def failed(self, address: Address) -> None:
        """Record a failure: if this is the chosen address, choose the next."""
        if self.chosen == address:
            self._first = (self._first + 1) % len(self._ring)


def share_of_time(now: float, deadline: float, attempts_left: int) -> float:
    """Return the deadline of the next attempt: an equal share of the remaining time for each attempt left."""
    return now + max(0.0, deadline - now) / attempts_left


def all_failed(failures: Sequence[ConnectionFailed]) -> ConnectionFailed:
    """Return one error: the only failure, or one that lists the failure of each address."""
    if len(failures) == 1:
        return failures[0]
    kinds = {type(failure) for failure in failures}
    kind = kinds.pop() if len(kinds) == 1 else ConnectionFailed
    addresses = ";".join(failure.address for failure in failures)
    return kind(addresses, "no NameServer responds: " + "; ".join(map(str, failures)))
