"""Which sequence numbers of each NameServer bronze contains, as ranges; used to add every event only once.

Spark aggregates the numbers into 64-bit words, by hash and without sorting (Spark's own bitmap functions sort). There
are few ranges: one per NameServer, plus one per gap.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, TypeAlias

WORD: Final = 64  # numbers per word
_ALL: Final = (1 << WORD) - 1

Range: TypeAlias = tuple[int, int]  # first and last number, both inclusive


class Coverage:
    """Disjoint, sorted ranges of numbers per NameServer."""

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Mapping[str, Iterable[Range]] | None = None) -> None:
        self._ranges = {ns: merged(found) for ns, found in (ranges or {}).items()}

    def ranges(self) -> dict[str, list[Range]]:
        """All ranges, by NameServer."""
        return {ns: list(found) for ns, found in sorted(self._ranges.items())}

    def union(self, other: "Coverage") -> "Coverage":
        names = {*self._ranges, *other._ranges}
        return Coverage({ns: [*self._ranges.get(ns, ()), *other._ranges.get(ns, ())] for ns in names})

    def holes(self) -> Iterator[tuple[str, Range]]:
        """The gaps between ranges. Numbers before the first range are no gap: retention removes old segments."""
        for ns, found in sorted(self._ranges.items()):
            for before, after in pairwise(found):
                yield ns, (before[1] + 1, after[0] - 1)

    def __len__(self) -> int:
        return sum(last - first + 1 for found in self._ranges.values() for first, last in found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coverage) and self._ranges == other._ranges

    __hash__ = None  # type: ignore[assignment]  # never used as a key


def merged(ranges: Iterable[Range]) -> list[Range]:
    """Sorted ranges; those that touch or overlap are merged."""
    result: list[Range] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], last))
        else:
            result.append((first, last))
    return result


def ranges_of(word: int, bits: int) -> Iterator[Range]:
    """The ranges in one word, whose lowest bit stands for the number `word * WORD`."""
    bits &= _ALL
    at = word * WORD
    if bits == _ALL:
        yield at, at + WORD - 1
        return
    while bits:
        zeros = (bits & -bits).bit_length() - 1
        bits >>= zeros
        ones = (~bits & (bits + 1)).bit_length() - 1
        at += zeros
        yield at, at + ones - 1
        bits >>= ones
        at += ones
