"""Names of segments: made, told apart, sorted."""

from routebook.journal.segments import Segment, Span, list_segments, open_name, rolled_name

SPAN = Span(first=1, last=417, earliest_ms=1_731_700_000_000, latest_ms=1_731_721_600_000)
ROLLED = "00000000000000000001-00000000000000000417-1731700000000-1731721600000.jsonl.zst"


def test_names() -> None:
    assert open_name(1) == "00000000000000000001.jsonl"
    assert rolled_name(SPAN) == ROLLED


def test_a_name_says_all_there_is_to_know() -> None:
    assert list_segments([ROLLED]).segments == (Segment(ROLLED, 1, SPAN),)


def test_a_clock_before_1970_has_names_too() -> None:
    span = Span(first=1, last=2, earliest_ms=-5, latest_ms=-3)
    assert list_segments([rolled_name(span)]).segments[0].span == span


def test_segments_are_sorted_by_number() -> None:
    listing = list_segments([open_name(900), ROLLED, open_name(418)])
    assert [segment.first for segment in listing.segments] == [1, 418, 900]


def test_while_it_is_rolled_a_segment_counts_once() -> None:
    listing = list_segments([open_name(1), ROLLED, ROLLED + ".tmp"])
    assert [segment.name for segment in listing.segments] == [ROLLED]
    assert [double.name for double in listing.doubles] == [open_name(1)]
    assert listing.leftovers == (ROLLED + ".tmp",)


def test_strangers_are_named_and_others_left_alone() -> None:
    twice = ROLLED.replace("417", "418")
    listing = list_segments([ROLLED, twice, "copy.jsonl", "x.jsonl.zst", "reserved.json", "a.corrupt", "README"])
    assert listing.strangers == (twice, "copy.jsonl", "x.jsonl.zst")
    assert listing.leftovers == ()


def test_a_span_grows_and_its_time_may_go_back() -> None:
    span = SPAN.and_then(418, 5)
    assert span == Span(first=1, last=418, earliest_ms=5, latest_ms=1_731_721_600_000)
