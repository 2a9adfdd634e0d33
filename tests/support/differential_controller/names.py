"""The broker sets of random steps: few names and ids, so that steps affect the same objects."""

from dataclasses import dataclass
from typing import Final

HOST: Final = "127.0.0.9"  # in steps; each server gets a host of its own with the same length
IDS: Final = (1, 2, 3, 4)
OTHER: Final = "other"  # the connection of brokers that name another cluster than their set
_FIRST_PORT: Final = 10_000  # in steps; replaced by free ports


@dataclass(frozen=True)
class BrokerSet:
    """A set; `@@` in names is replaced by letters of the run."""

    number: int
    name: str
    cluster: str

    def address(self, broker_id: int, *, moved: bool = False) -> str:
        """Where a broker of the set listens for notifications; `moved`: its second address."""
        return f"{HOST}:{_FIRST_PORT + 100 * self.number + 10 * (broker_id % 10) + moved}"

    def connection(self, broker_id: int) -> str:
        """The connection over which a broker sends its heartbeats."""
        return f"{self.name} {broker_id}"


SETS: Final = (BrokerSet(0, "s0@@", "c0@@"), BrokerSet(1, "s/ü1@@", "c/ü1@@"), BrokerSet(2, 's"2@@', "c0@@"))
ADDRESSES: Final = tuple(one.address(n, moved=moved) for one in SETS for n in IDS for moved in (False, True))
