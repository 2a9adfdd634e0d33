"""Verification of a whole journal."""

from routebook.events import JournalHole
from routebook.journal.read.reader import Hole
from routebook.journal.read.verify import KindCount, verify
from routebook.journal.segments import open_name
from tests.support.faulty_files import FaultyFiles
from tests.support.journal_events import linked, pending, write_segment


def test_a_whole_journal() -> None:
    files = FaultyFiles()
    text = linked(*map(pending, range(1, 6)))
    write_segment(files, 1, 5, roll=True)
    write_segment(files, 6, 9)
    report = verify(files)
    assert report.whole
    assert (report.records, report.first_seq, report.last_seq) == (9, 1, 9)
    assert (report.earliest_ms, report.latest_ms) == (1000, 9000)
    assert (report.segments, report.rolled, report.boots, report.nameservers) == (2, 1, 1, ("n",))
    size = len(text) + len(linked(*map(pending, range(6, 10)), after=text))
    assert report.kinds == {"server_stopped": KindCount(records=9, bytes=size)}
    assert report.text_bytes == size
    assert (report.chained_since, report.breaks) == (1, ())
    assert report.disk_bytes == sum(files.size(name) for name in files.names())


def test_an_empty_journal_is_whole() -> None:
    report = verify(FaultyFiles())
    assert report.whole
    assert (report.records, report.first_seq, report.earliest_ms) == (0, None, None)


def test_damage_and_holes_are_not_whole() -> None:
    files = FaultyFiles()
    files.put(open_name(1), pending(1).line + b"#\n" + pending(2).line + pending(5).line + b"{")
    report = verify(files)
    assert not report.whole
    assert [damage.line for damage in report.damage] == [2]
    assert report.holes == (Hole(first=3, last=4),)
    assert report.unfinished is not None


def test_an_incomplete_last_line_is_not_a_loss() -> None:
    files = FaultyFiles()
    files.put(open_name(1), pending(1).line + b"{")
    assert verify(files).whole


def test_numbers_skipped_after_a_crash_are_not_a_loss() -> None:
    files = FaultyFiles()
    hole = JournalHole(first_missing=2, last_missing=8, count=7, why="crash", certain=False)
    files.put(open_name(1), pending(1).line + pending(9, event=hole).line)
    report = verify(files)
    assert report.whole
    assert report.skipped == (Hole(first=2, last=8, why="crash", certain=False),)


def test_a_reason_recorded_later_is_found() -> None:
    files = FaultyFiles()
    hole = JournalHole(first_missing=2, last_missing=3, count=2, why="the segment was removed")
    files.put(open_name(1), pending(1).line + pending(4).line + pending(5, event=hole).line)
    report = verify(files)
    assert report.holes == (Hole(first=2, last=3, why="the segment was removed"),)
    assert not report.whole


def test_events_dropped_without_a_number_are_a_loss() -> None:
    files = FaultyFiles()
    hole = JournalHole(first_missing=2, last_missing=1, count=7, why="read-only")
    files.put(open_name(1), pending(1).line + pending(2, event=hole).line)
    report = verify(files)
    assert (report.unnumbered, report.holes, report.whole) == (7, (), False)
