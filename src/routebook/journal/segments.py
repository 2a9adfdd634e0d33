"""Segment file names. They are the index: a folder listing shows where a sequence number or a time is. Pure.

    00000000000000000001.jsonl                                                    first seq; open, or not yet rolled
    00000000000000000001-00000000000000000417-1731700000000-1731721600000.jsonl.zst
    first seq            last seq             earliest `at` latest `at`           rolled
    *.tmp                                                                         incomplete; ignored
    *.corrupt                                                                     set aside by recovery
    reserved.json                                                                 write/sequence_reserve.py
    expired.json                                                                  expired.py

While a segment is being rolled, both forms exist for a moment. Then the rolled one counts: it gets its name only when
it is complete.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

RESERVE_NAME: Final = "reserved.json"
EXPIRED_NAME: Final = "expired.json"
OPEN_SUFFIX: Final = ".jsonl"
ROLLED_SUFFIX: Final = ".jsonl.zst"
TEMPORARY_SUFFIX: Final = ".tmp"
CORRUPT_SUFFIX: Final = ".corrupt"

_OPEN: Final = re.compile(r"(\d{20})\.jsonl", re.ASCII)
_ROLLED: Final = re.compile(r"(\d{20})-(\d{20})-(-?\d+)-(-?\d+)\.jsonl\.zst", re.ASCII)


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Sequence numbers and times of a segment's records. The clock may go back: the last need not be the latest."""

    first: int
    last: int
    earliest_ms: int
    latest_ms: int


def extend_span(span: Span | None, seq: int, at_ms: int) -> Span:
    """Add one record to a span."""
    if span is None:
        return Span(first=seq, last=seq, earliest_ms=at_ms, latest_ms=at_ms)
    return Span(
        first=span.first, last=seq, earliest_ms=min(span.earliest_ms, at_ms), latest_ms=max(span.latest_ms, at_ms)
    )


class Segment(msgspec.Struct, frozen=True):
    """A file of records; `span` is set for rolled segments only."""

    name: str
    first: int
    span: Span | None = None

    @property
    def rolled(self) -> bool:
        return self.span is not None


class Listing(msgspec.Struct, frozen=True):
    """The content of a journal folder."""

    segments: tuple[Segment, ...]  # by first sequence number, each once
    duplicates: tuple[Segment, ...]  # plain segments that also exist as rolled ones
    leftovers: tuple[str, ...]  # incomplete files
    misnamed: tuple[str, ...]  # have the suffix of a segment, but an invalid name


def open_name(first: int) -> str:
    """Return the file name of an open segment."""
    return f"{first:020}{OPEN_SUFFIX}"


def rolled_name(span: Span) -> str:
    """Return the file name of a rolled segment."""
    return f"{span.first:020}-{span.last:020}-{span.earliest_ms}-{span.latest_ms}{ROLLED_SUFFIX}"


def list_segments(names: Iterable[str]) -> Listing:
    """Classify the files of a folder."""
    plain: dict[int, Segment] = {}
    rolled: dict[int, Segment] = {}
    leftovers: list[str] = []
    misnamed: list[str] = []
    for name in names:
        segment = _parse(name)
        if segment is None:
            if name.endswith(TEMPORARY_SUFFIX):
                leftovers.append(name)
            elif name.endswith((OPEN_SUFFIX, ROLLED_SUFFIX)):
                misnamed.append(name)
        elif segment.span is None:
            plain[segment.first] = segment
        elif segment.first in rolled:
            misnamed.append(name)
        else:
            rolled[segment.first] = segment
    duplicates = tuple(segment for first, segment in plain.items() if first in rolled)
    segments = sorted({**plain, **rolled}.values(), key=lambda segment: segment.first)
    return Listing(tuple(segments), duplicates, tuple(leftovers), tuple(misnamed))


def _parse(name: str) -> Segment | None:
    if match := _OPEN.fullmatch(name):
        return Segment(name, int(match[1]))
    if match := _ROLLED.fullmatch(name):
        first, last, earliest, latest = map(int, match.groups())
        return Segment(name, first, Span(first=first, last=last, earliest_ms=earliest, latest_ms=latest))
    return None
