"""Ranges of sequence numbers: merging, decoding of 64-bit words, and gaps."""

from hypothesis import given
from hypothesis import strategies as st

from routebook.lake.build.bronze.coverage import WORD, Coverage, merged, ranges_of
from routebook.lake.build.bronze.holes import NO_SEGMENT, Hole, find_holes

numbers = st.sets(st.integers(min_value=1, max_value=40_000), max_size=200)


def as_ranges(found: set[int]) -> list[tuple[int, int]]:
    return merged((one, one) for one in found)


@given(st.sets(st.integers(min_value=0, max_value=WORD - 1)), st.integers(min_value=0, max_value=1 << 40))
def test_a_word_decodes_to_its_ranges(found: set[int], word: int) -> None:
    bits = sum(1 << one for one in found)
    signed = bits - (1 << WORD) if bits >> (WORD - 1) else bits  # as in Spark
    expected = [(first + word * WORD, last + word * WORD) for first, last in as_ranges(found)]
    assert list(ranges_of(word, signed)) == expected


@given(numbers, numbers)
def test_the_union_of_two_coverages(one: set[int], other: set[int]) -> None:
    both = Coverage({"n": as_ranges(one)}).union(Coverage({"n": as_ranges(other)}))
    assert both.ranges().get("n", []) == as_ranges(one | other)
    assert len(both) == len(one | other)


def test_holes_are_the_gaps_between_ranges() -> None:
    assert list(Coverage({"n": [(5, 7), (10, 12)], "m": [(3, 3)]}).holes()) == [("n", (8, 9))]


def test_explanations_split_holes() -> None:
    coverage = Coverage({"n": [(1, 10), (31, 40), (50, 60)]})
    explained = [Hole("n", 15, 20, "disk full", True), Hole("n", 41, 49, "after a crash", False)]
    assert find_holes(coverage, explained) == [
        Hole("n", 11, 14, NO_SEGMENT, True),
        Hole("n", 15, 20, "disk full", True),
        Hole("n", 21, 30, NO_SEGMENT, True),
        Hole("n", 41, 49, "after a crash", False),
    ]


def test_an_explained_range_that_exists_is_not_a_hole() -> None:
    assert find_holes(Coverage({"n": [(1, 10)]}), [Hole("n", 3, 4, "disk full", True)]) == []
