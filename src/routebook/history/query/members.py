"""The identity of a broker over time: which member of its group a registration continues. Pure.

A broker is its cluster, name and id; its address belongs to a session, and a role switch changes its id. The lake uses
the same rules (docs/availability.md).
"""

from collections.abc import Container, Iterable
from typing import NamedTuple


class Gone(NamedTuple):
    """A member of the group that left, with its last id and address; `member` identifies it."""

    member: int
    broker_id: int
    addr: str
    at_ms: int


def returning(gone: Iterable[Gone], broker_id: int, addr: str, taken: Container[int]) -> Gone | None:
    """The gone member that registers with this id and address; `taken` are the ids of registered members.

    In order of preference: the same id and address, the same id, the same address, or an id that another member has
    taken over since; among equals, the one that left last.
    """
    ranked = []
    for one in gone:
        same_id, same_addr = one.broker_id == broker_id, one.addr == addr
        rank = 3 if same_id and same_addr else 2 if same_id else 1 if same_addr else 0
        if rank or one.broker_id in taken:
            ranked.append((rank, one.at_ms, one))
    return max(ranked)[2] if ranked else None
