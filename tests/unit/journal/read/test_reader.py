"""Reading in order, from any position, past damage, and while the journal grows."""

import random
from collections.abc import Callable, Iterator

import pytest

from routebook.events import JournalHole
from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Hole, Item, Line, TimeRange, follow, newest, read
from routebook.journal.segments import Span, open_name
from routebook.journal.write.rolling import roll_segment
from tests.support.faulty_files import FaultyFiles
from tests.support.journal_events import pending, write_segment


def journal(*bounds: tuple[int, int], rolled: int = 0) -> FaultyFiles:
    files = FaultyFiles(rng=random.Random(1))
    for index, (first, last) in enumerate(bounds):
        write_segment(files, first, last, roll=index < rolled)
    return files


def short(items: Iterator[Item]) -> list[object]:
    """Return records as their numbers, holes and damage unchanged."""
    return [item.record.seq if isinstance(item, Line) else item for item in items]


THREE = ((1, 10), (11, 20), (21, 25))


@pytest.mark.parametrize("rolled", [0, 1, 2, 3])
def test_records_come_in_order_across_segments(rolled: int) -> None:
    assert short(read(journal(*THREE, rolled=rolled))) == list(range(1, 26))


@pytest.mark.parametrize("from_seq", [1, 10, 11, 15, 25, 26, 99])
@pytest.mark.parametrize("rolled", [0, 2])
def test_reading_starts_at_a_number(from_seq: int, rolled: int) -> None:
    assert short(read(journal(*THREE, rolled=rolled), from_seq=from_seq)) == list(range(from_seq, 26))


def test_segments_before_the_start_are_not_opened() -> None:
    files = journal(*THREE, rolled=2)
    files.put(files.names()[0], b"never read")
    assert short(read(files, from_seq=12)) == list(range(12, 26))


def test_a_time_range_is_inclusive() -> None:
    files = journal(*THREE, rolled=2)
    files.put(files.names()[0], b"never read")
    assert short(read(files, between=TimeRange(from_ms=12_000, to_ms=14_000))) == [12, 13, 14]
    assert short(read(files, between=TimeRange(from_ms=24_000))) == [24, 25]
    assert short(read(files, between=TimeRange(from_ms=99_000))) == []


def test_records_are_found_although_the_clock_went_back() -> None:
    files = FaultyFiles()
    files.put(open_name(1), pending(1, at_ms=9_000).line + pending(2, at_ms=2_000).line + pending(3).line)
    assert short(read(files)) == [1, 2, 3]
    roll_segment(files, open_name(1), Span(first=1, last=3, earliest_ms=2_000, latest_ms=9_000))
    assert short(read(files, between=TimeRange(from_ms=8_000))) == [1]
    assert short(read(files, between=TimeRange(to_ms=2_500))) == [2]


def test_a_line_carries_its_file_and_number() -> None:
    lines = [item for item in read(journal(*THREE, rolled=1)) if isinstance(item, Line)]
    assert (lines[11].file, lines[11].number, lines[11].raw) == (open_name(11), 2, pending(12).line[:-1])


def test_a_removed_segment_is_a_hole_without_a_reason() -> None:
    files = journal(*THREE, rolled=3)
    del files.files[files.names()[1]]
    assert short(read(files)) == [*range(1, 11), Hole(first=11, last=20), *range(21, 26)]


def test_a_start_past_retention_yields_a_hole_first() -> None:
    files = journal((11, 12))
    assert short(read(files)) == [11, 12]
    assert short(read(files, from_seq=5)) == [Hole(first=5, last=10), 11, 12], "the hole comes first"


def test_a_recorded_hole_carries_its_reason() -> None:
    files = journal((1, 2))
    hole = JournalHole(first_missing=3, last_missing=8, count=6, why="disk full", certain=False)
    files.put(open_name(9), pending(9, event=hole).line)
    assert short(read(files)) == [1, 2, Hole(first=3, last=8, why="disk full", certain=False), 9]


def test_an_unrelated_hole_record_is_not_the_reason() -> None:
    files = journal((1, 2))
    hole = JournalHole(first_missing=5, last_missing=8, count=4, why="disk full")
    files.put(open_name(9), pending(9, event=hole).line)
    assert short(read(files)) == [1, 2, Hole(first=3, last=8), 9]


def test_damage_carries_its_place_and_reading_continues() -> None:
    files = journal((1, 3))
    files.put(open_name(1), pending(1).line + b"#\n" + pending(3).line)
    one, damage, hole, three = read(files)
    assert isinstance(damage, Damage)
    assert (damage.file, damage.line, damage.offset, damage.size) == (open_name(1), 2, len(pending(1).line), 2)
    assert hole == Hole(first=2, last=2)
    assert short(iter([one, three])) == [1, 3]


def test_an_invalid_event_is_damage_but_not_a_hole() -> None:
    files = journal((1, 3))
    files.put(open_name(1), files.text(open_name(1)).replace(b'"reason":"r2"', b'"reason":2'))
    one, damage, three = read(files)
    assert isinstance(damage, Damage)
    assert "not a server_stopped event" in damage.reason
    assert short(iter([one, three])) == [1, 3]


def test_a_repeated_number_is_read_once() -> None:
    files = FaultyFiles()
    files.put(open_name(1), pending(1).line + pending(2).line + pending(2).line + pending(3).line)
    one, two, damage, three = read(files)
    assert isinstance(damage, Damage)
    assert damage.reason == "number 2 does not follow 2"
    assert short(iter([one, two, three])) == [1, 2, 3]


def test_an_incomplete_line_is_damage_unless_it_is_the_last() -> None:
    files = journal((1, 2), (3, 3))
    for first in (1, 3):
        files.put(open_name(first), files.text(open_name(first)) + b'{"v":')
    damages = [item for item in read(files) if isinstance(item, Damage)]
    assert [damage.unfinished for damage in damages] == [False, True]


@pytest.mark.parametrize("how", ["cut", "flip", "longer"])
def test_a_damaged_rolled_segment_is_reported(how: str) -> None:
    files = journal(*THREE, rolled=1)
    name = next(name for name in files.names() if name.endswith(".zst"))
    data = bytearray(files.text(name))
    if how == "cut":
        del data[-20:]
    elif how == "flip":
        data[len(data) // 2] ^= 0xFF
    else:
        data += b"more"
    files.put(name, bytes(data))
    items = list(read(files))
    damages = [item for item in items if isinstance(item, Damage)]
    assert len(damages) == 1
    assert damages[0].file == name
    assert short(iter(items))[-15:] == list(range(11, 26))


def test_an_invalid_segment_name_is_reported() -> None:
    files = journal((1, 1))
    files.put("mine.jsonl", b"")
    damage, _ = read(files)
    assert isinstance(damage, Damage)
    assert damage.file == "mine.jsonl"


def test_a_segment_rolled_just_before_it_is_read() -> None:
    files = journal(*THREE)
    items = read(files)
    assert isinstance(next(items), Line)
    span = Span(first=11, last=20, earliest_ms=11_000, latest_ms=20_000)
    roll_segment(files, open_name(11), span)
    assert short(items) == list(range(2, 26))


def following(files: FaultyFiles, *happenings: Callable[[], object], from_seq: int | None = None) -> list[object]:
    left = list(happenings)

    def wait() -> bool:
        if not left:
            return False
        left.pop(0)()
        return True

    return short(follow(files, from_seq=from_seq, wait=wait))


def append(files: FaultyFiles, first: int, text: bytes) -> None:
    name = open_name(first)
    files.put(name, (files.text(name) if name in files.names() else b"") + text)


def test_follow_continues_across_rolls() -> None:
    files = journal((1, 3))
    line = pending(5).line
    span = Span(first=1, last=6, earliest_ms=1_000, latest_ms=6_000)
    assert following(
        files,
        lambda: append(files, 1, pending(4).line),
        lambda: None,
        lambda: append(files, 1, line[:20]),
        lambda: append(files, 1, line[20:]),
        lambda: append(files, 1, pending(6).line),
        lambda: append(files, 7, pending(7).line),
        lambda: roll_segment(files, open_name(1), span),
        lambda: append(files, 7, pending(8).line),
    ) == list(range(1, 9))


def test_follow_continues_in_a_segment_rolled_between_two_polls() -> None:
    files = journal((1, 3))
    span = Span(first=1, last=5, earliest_ms=1_000, latest_ms=5_000)

    def grow_and_roll() -> None:
        append(files, 1, b"#\n" + pending(4).line + pending(5).line)
        roll_segment(files, open_name(1), span)

    *before, damage, four, five = following(files, lambda: None, grow_and_roll, lambda: None)
    assert (before, four, five) == ([1, 2, 3], 4, 5)
    assert isinstance(damage, Damage)


def test_follow_handles_a_record_that_was_rewritten() -> None:
    """After an error the writer truncated an unacknowledged record and wrote it again to a new segment."""
    files = journal((1, 3))

    def taken_back() -> None:
        files.truncate(open_name(1), len(pending(1).line) * 2)
        append(files, 3, pending(3).line + pending(4).line)

    assert following(files, taken_back) == [1, 2, 3, 4]


def test_follow_from_a_future_number() -> None:
    files = journal((1, 3))
    assert following(files, lambda: append(files, 1, pending(4).line), from_seq=4) == [4]


def test_follow_reports_damage_once() -> None:
    files = journal((1, 3), rolled=1)
    (name,) = files.names()
    files.put(name, files.text(name)[:-5])
    items = following(files, lambda: None, lambda: append(files, 4, pending(4).line), lambda: None)
    assert len([item for item in items if isinstance(item, Damage)]) == 1
    assert items[-1] == 4


def test_follow_an_empty_folder() -> None:
    files = FaultyFiles()
    assert following(files, lambda: append(files, 1, pending(1).line)) == [1]


def test_newest_returns_the_last_matching_records() -> None:
    files = journal(*THREE, rolled=2)
    assert [line.record.seq for line in newest(files, 7, wanted=lambda _: True)] == list(range(19, 26))
    assert [line.record.seq for line in newest(files, 3, wanted=lambda record: record.seq % 9 == 0)] == [9, 18]
    assert len(newest(files, 99, wanted=lambda _: True)) == 25
