"""Heads of other NameServers' hash chains: evidence that their journals existed as they were. Pure.

A NameServer that is a peer of another one keeps the newest head of its journal and one per day, and
`routebook journal verify --witness` compares the journal with them.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from routebook.journal.chain import ChainHead

FILE_NAME: Final = "witness.json"
_DAY_MS: Final = 86_400_000
_MAX_DAYS: Final = 400
_MAX_CHAINS: Final = 256


class SeenHead(msgspec.Struct, frozen=True, kw_only=True):
    """A head, and when it was received."""

    at_ms: int
    chain: ChainHead


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `witness.json`."""

    heads: tuple[SeenHead, ...] = ()

    def seen(self, heads: Iterable[ChainHead], at_ms: int) -> "Witness":
        """Add heads; of each chain the newest one of a day is kept."""
        chains: dict[tuple[str, str], list[SeenHead]] = {}
        for known in self.heads:
            chains.setdefault((known.chain.ns, known.chain.stream), []).append(known)
        for head in heads:
            kept = chains.setdefault((head.ns, head.stream), [])
            if kept and kept[-1].at_ms // _DAY_MS == at_ms // _DAY_MS:
                kept.pop()
            kept.append(SeenHead(at_ms=at_ms, chain=head))
            del kept[:-_MAX_DAYS]
        newest = sorted(chains.values(), key=lambda kept: kept[-1].at_ms)[-_MAX_CHAINS:]
        return Witness(heads=tuple(head for kept in newest for head in kept))

    def of(self, ns: Iterable[str], stream: str) -> list[ChainHead]:
        """The heads of one stream of these NameServers."""
        wanted = frozenset(ns)
        return [seen.chain for seen in self.heads if seen.chain.ns in wanted and seen.chain.stream == stream]


def encode_witness(witness: Witness) -> bytes:
    return msgspec.json.format(msgspec.json.encode(witness), indent=1) + b"\n"


def decode_witness(data: bytes) -> Witness:
    """Raises msgspec.DecodeError or UnicodeError."""
    return msgspec.json.decode(data, type=Witness)
