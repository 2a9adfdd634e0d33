"""Gaps in the sequence numbers of a journal, with the reasons that the journal records for them."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from routebook.lake.build.bronze.coverage import Coverage

NO_SEGMENT: Final = "in no segment that was read"


class Hole(NamedTuple):
    """A range of missing numbers; also the content of a `journal_hole` event."""

    ns: str
    first_missing: int
    last_missing: int
    why: str
    certain: bool  # false: most of these numbers were never assigned to an event


def find_holes(coverage: Coverage, explained: Iterable[Hole]) -> list[Hole]:
    """All gaps of the coverage, split where an explanation begins or ends."""
    by_ns: dict[str, list[Hole]] = {}
    for one in sorted(set(explained)):
        by_ns.setdefault(one.ns, []).append(one)
    found: list[Hole] = []
    for ns, (first, last) in coverage.holes():
        at = first
        for one in by_ns.get(ns, ()):
            if one.last_missing < at or one.first_missing > last:
                continue
            if one.first_missing > at:
                found.append(Hole(ns, at, one.first_missing - 1, NO_SEGMENT, certain=True))
                at = one.first_missing
            end = min(one.last_missing, last)
            found.append(Hole(ns, at, end, one.why, one.certain))
            at = end + 1
        if at <= last:
            found.append(Hole(ns, at, last, NO_SEGMENT, certain=True))
    return found
