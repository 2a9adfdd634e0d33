"""Segment file names are built, parsed, classified and sorted."""

from routebook.journal.segments import Segment, Span, extend_span, list_segments, open_name, rolled_name

SPAN = Span(first=1, last=417, earliest_ms=1_731_700_000_000, latest_ms=1_731_721_600_000)
ROLLED = "00000000000000000001-00000000000000000417-1731700000000-1731721600000.jsonl.zst"


def test_names() -> None:
    assert open_name(1) == "00000000000000000001.jsonl"
    assert rolled_name(SPAN) == ROLLED


def test_the_name_of_a_rolled_segment_holds_its_span() -> None:
    assert list_segments([ROLLED]).segments == (Segment(ROLLED, 1, SPAN),)


def test_times_before_1970_are_supported() -> None:
    span = Span(first=1, last=2, earliest_ms=-5, latest_ms=-3)
    assert list_segments([rolled_name(span)]).segments[0].span == span


def test_segments_are_sorted_by_number() -> None:
    listing = list_segments([open_name(900), ROLLED, open_name(418)])
    assert [segment.first for segment in listing.segments] == [1, 418, 900]


def test_a_segment_counts_once_while_it_is_being_rolled() -> None:
    listing = list_segments([open_name(1), ROLLED, ROLLED + ".tmp"])
    assert [segment.name for segment in listing.segments] == [ROLLED]
    assert [plain.name for plain in listing.duplicates] == [open_name(1)]
    assert listing.leftovers == (ROLLED + ".tmp",)


def test_invalid_segment_names_are_listed_and_other_files_ignored() -> None:
    twice = ROLLED.replace("417", "418")
    listing = list_segments([ROLLED, twice, "copy.jsonl", "x.jsonl.zst", "reserved.json", "a.corrupt", "README"])
    assert listing.misnamed == (twice, "copy.jsonl", "x.jsonl.zst")
    assert listing.leftovers == ()


def test_a_span_is_extended_by_a_record_with_an_earlier_time() -> None:
    assert extend_span(None, 3, 7) == Span(first=3, last=3, earliest_ms=7, latest_ms=7)
    span = extend_span(SPAN, 418, 5)
    assert span == Span(first=1, last=418, earliest_ms=5, latest_ms=1_731_721_600_000)
