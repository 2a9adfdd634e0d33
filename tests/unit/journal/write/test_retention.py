"""Which segments go: the oldest, rolled, by age or by total size."""

from routebook.journal.segments import Segment, Span
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.retention import expired

DAY_MS = 86_400_000


def rolled(number: int, *, latest_ms: int) -> Segment:
    return Segment(f"s{number}", number, Span(first=number, last=number, earliest_ms=0, latest_ms=latest_ms))


SEGMENTS = [rolled(1, latest_ms=1 * DAY_MS), rolled(2, latest_ms=2 * DAY_MS), rolled(3, latest_ms=9 * DAY_MS)]
OPEN = Segment("s4", 4)
SIZES = {"s1": 100, "s2": 100, "s3": 100, "s4": 100}


def gone(segments: list[Segment], *, age_days: int = 1000, size: int = 10**9, now_ms: int = 10 * DAY_MS) -> list[str]:
    options = JournalOptions(retain_age_s=age_days * 86_400, retain_bytes=size)
    return [segment.name for segment in expired(segments, SIZES, now_ms=now_ms, options=options)]


def test_nothing_goes_before_its_time() -> None:
    assert gone([*SEGMENTS, OPEN]) == []


def test_by_age() -> None:
    assert gone([*SEGMENTS, OPEN], age_days=8) == ["s1"]
    assert gone([*SEGMENTS, OPEN], age_days=7) == ["s1", "s2"]


def test_by_size_of_all_together() -> None:
    assert gone([*SEGMENTS, OPEN], size=399) == ["s1"]
    assert gone([*SEGMENTS, OPEN], size=200) == ["s1", "s2"]


def test_what_is_not_rolled_stays_whatever_its_size() -> None:
    assert gone([*SEGMENTS, OPEN], size=0) == ["s1", "s2", "s3"]
    assert gone([OPEN], size=0, age_days=0) == []


def test_no_gap_in_the_middle_when_the_clock_went_back() -> None:
    ahead = rolled(1, latest_ms=99 * DAY_MS)
    assert gone([ahead, *SEGMENTS[1:]], age_days=1) == []
