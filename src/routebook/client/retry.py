"""Which NameServer is asked, and for how long: it stays with one that answers, and moves on from one that does not."""

from collections.abc import Sequence

from routebook.client.addresses import Address
from routebook.errors import ConnectionFailed


class Rotation:
    """The addresses in a ring, and the one that is asked first. Java: NettyRemotingClient.namesrvAddrChoosed."""

    def __init__(self, addresses: Sequence[Address], *, shuffle: bool) -> None:
        self._ring = list(addresses)
        if shuffle and len(self._ring) > 1:  # Java shuffles, too: many clients with one list spread over all of it
            from random import shuffle as mix  # noqa: PLC0415 - a command gives one address and need not wait for it

            mix(self._ring)
        self._first = 0

    @property
    def chosen(self) -> Address:
        """Who is asked first."""
        return self._ring[self._first]

    def order(self) -> list[Address]:
        """Each address once, the chosen one first."""
        return self._ring[self._first :] + self._ring[: self._first]

    def failed(self, address: Address) -> None:
        """This one did not: if it is the chosen one, the next one is."""
        if self.chosen == address:
            self._first = (self._first + 1) % len(self._ring)


def share_of_time(now: float, deadline: float, attempts_left: int) -> float:
    """Until when the next of so many attempts may last, so that a silent server leaves time for the others."""
    return now + max(0.0, deadline - now) / attempts_left


def all_failed(failures: Sequence[ConnectionFailed]) -> ConnectionFailed:
    """One error for all: the error itself where there is one, else one that says what happened where."""
    if len(failures) == 1:
        return failures[0]
    kinds = {type(failure) for failure in failures}
    kind = kinds.pop() if len(kinds) == 1 else ConnectionFailed
    addresses = ";".join(failure.address for failure in failures)
    return kind(addresses, "no NameServer answers: " + "; ".join(map(str, failures)))
