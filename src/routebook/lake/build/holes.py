"""Numbers that are missing between those that were read, and what the journals say about them. Pure."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from routebook.lake.build.coverage import Coverage

NO_SEGMENT: Final = "in no segment that was read"


class Explained(NamedTuple):
    """What a `journal_hole` event says of a stretch of numbers."""

    ns: str
    first_missing: int
    last_missing: int
    why: str
    certain: bool  # false: most of these numbers were never used


def find_holes(coverage: Coverage, explained: Iterable[Explained]) -> list[Explained]:
    """Every stretch that is missing, cut where an explanation begins or ends."""
    by_ns: dict[str, list[Explained]] = {}
    for one in sorted(set(explained)):
        by_ns.setdefault(one.ns, []).append(one)
    found: list[Explained] = []
    for ns, (first, last) in coverage.holes():
        at = first
        for one in by_ns.get(ns, ()):
            if one.last_missing < at or one.first_missing > last:
                continue
            if one.first_missing > at:
                found.append(Explained(ns, at, one.first_missing - 1, NO_SEGMENT, certain=True))
                at = one.first_missing
            end = min(one.last_missing, last)
            found.append(Explained(ns, at, end, one.why, one.certain))
            at = end + 1
        if at <= last:
            found.append(Explained(ns, at, last, NO_SEGMENT, certain=True))
    return found
