"""Which numbers of each NameServer are in bronze, as ranges: what makes every event come in once. Pure.

Spark makes words of 64 bits of them, which it sums up by hash and without sorting (for its own bitmaps it sorts).
Ranges are few: one for each NameServer, and one more for each hole.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, TypeAlias

WORD: Final = 64  # numbers in one
_ALL: Final = (1 << WORD) - 1

Range: TypeAlias = tuple[int, int]  # first and last, both included


class Coverage:
    """Ranges of numbers by NameServer: apart from each other, in order."""

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Mapping[str, Iterable[Range]] | None = None) -> None:
        self._ranges = {ns: merged(found) for ns, found in (ranges or {}).items()}

    def ranges(self) -> dict[str, list[Range]]:
        """All of them."""
        return {ns: list(found) for ns, found in sorted(self._ranges.items())}

    def with_more(self, other: "Coverage") -> "Coverage":
        """Both together."""
        names = {*self._ranges, *other._ranges}
        return Coverage({ns: [*self._ranges.get(ns, ()), *other._ranges.get(ns, ())] for ns in names})

    def holes(self) -> Iterator[tuple[str, Range]]:
        """What lies between ranges. Before the first there is none: a journal begins where its oldest segment does."""
        for ns, found in sorted(self._ranges.items()):
            for before, after in pairwise(found):
                yield ns, (before[1] + 1, after[0] - 1)

    def __len__(self) -> int:
        return sum(last - first + 1 for found in self._ranges.values() for first, last in found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coverage) and self._ranges == other._ranges

    __hash__ = None  # type: ignore[assignment]  # it is compared, never looked up


def merged(ranges: Iterable[Range]) -> list[Range]:
    """In order, and those that touch or overlap as one."""
    result: list[Range] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], last))
        else:
            result.append((first, last))
    return result


def ranges_of(word: int, bits: int) -> Iterator[Range]:
    """The ranges that one word holds: its lowest bit is of the number `word * WORD`."""
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
