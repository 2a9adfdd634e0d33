"""Segments and their names, which are the index: one look at the folder tells where a number or a time is. Pure.

    00000000000000000001.jsonl                                                    first number; open, or not yet rolled
    00000000000000000001-00000000000000000417-1731700000000-1731721600000.jsonl.zst
    first number         last number          earliest `at` latest `at`           rolled
    *.tmp                                                                         half made; means nothing
    *.corrupt                                                                     what recovery set aside
    reserved.json                                                                 see mark.py

While a segment is being rolled both forms are there for a moment: then the rolled one, complete before it had its
name, counts.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

MARK_NAME: Final = "reserved.json"
OPEN_SUFFIX: Final = ".jsonl"
ROLLED_SUFFIX: Final = ".jsonl.zst"
TEMPORARY_SUFFIX: Final = ".tmp"
CORRUPT_SUFFIX: Final = ".corrupt"

_OPEN: Final = re.compile(r"(\d{20})\.jsonl", re.ASCII)
_ROLLED: Final = re.compile(r"(\d{20})-(\d{20})-(-?\d+)-(-?\d+)\.jsonl\.zst", re.ASCII)


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers and times that a segment's records have. `at` may go back, so the last need not be the latest."""

    first: int
    last: int
    earliest_ms: int
    latest_ms: int

    def and_then(self, seq: int, at_ms: int) -> "Span":
        """With one more record."""
        return Span(
            first=self.first,
            last=seq,
            earliest_ms=min(self.earliest_ms, at_ms),
            latest_ms=max(self.latest_ms, at_ms),
        )


class Segment(msgspec.Struct, frozen=True):
    """A file of records; `span` is known of a rolled one."""

    name: str
    first: int
    span: Span | None = None

    @property
    def rolled(self) -> bool:
        return self.span is not None


class Listing(msgspec.Struct, frozen=True):
    """What a folder holds."""

    segments: tuple[Segment, ...]  # by first number; each once
    doubles: tuple[Segment, ...]  # not rolled, of which there is a rolled one too
    leftovers: tuple[str, ...]  # half made
    strangers: tuple[str, ...]  # look like segments by their suffix, but have no such name


def open_name(first: int) -> str:
    """What a segment is called while it grows."""
    return f"{first:020}{OPEN_SUFFIX}"


def rolled_name(span: Span) -> str:
    """What a segment is called once it is rolled."""
    return f"{span.first:020}-{span.last:020}-{span.earliest_ms}-{span.latest_ms}{ROLLED_SUFFIX}"


def list_segments(names: Iterable[str]) -> Listing:
    """Tell the files of a folder apart."""
    grown: dict[int, Segment] = {}
    rolled: dict[int, Segment] = {}
    leftovers: list[str] = []
    strangers: list[str] = []
    for name in names:
        segment = _parse(name)
        if segment is None:
            if name.endswith(TEMPORARY_SUFFIX):
                leftovers.append(name)
            elif name.endswith((OPEN_SUFFIX, ROLLED_SUFFIX)):
                strangers.append(name)
        elif segment.span is None:
            grown[segment.first] = segment
        elif segment.first in rolled:
            strangers.append(name)
        else:
            rolled[segment.first] = segment
    doubles = tuple(segment for first, segment in grown.items() if first in rolled)
    segments = sorted({**grown, **rolled}.values(), key=lambda segment: segment.first)
    return Listing(tuple(segments), doubles, tuple(leftovers), tuple(strangers))


def _parse(name: str) -> Segment | None:
    if match := _OPEN.fullmatch(name):
        return Segment(name, int(match[1]))
    if match := _ROLLED.fullmatch(name):
        first, last, earliest, latest = map(int, match.groups())
        return Segment(name, first, Span(first=first, last=last, earliest_ms=earliest, latest_ms=latest))
    return None
