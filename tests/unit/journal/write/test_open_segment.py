"""The open segment rolls by size and age, and discards failed writes."""

import errno

import pytest

from routebook.journal.segments import Span, open_name
from routebook.journal.write.open_segment import OpenSegment
from routebook.journal.write.options import JournalOptions
from tests.support.faulty_files import FaultyFiles
from tests.support.journal_events import linked, pending


def test_batches_go_to_one_segment_and_are_synced() -> None:
    files = FaultyFiles()
    log = OpenSegment(files, options=JournalOptions())
    log.commit([pending(1), pending(2)], now_s=0)
    log.commit([pending(3)], now_s=1)
    (name,) = files.names()
    assert name == open_name(1)
    assert files.text(name) == linked(pending(1), pending(2), pending(3))
    assert files.files[name].synced == files.size(name)


def test_it_rolls_by_size() -> None:
    files = FaultyFiles()
    log = OpenSegment(files, options=JournalOptions(segment_bytes=len(linked(pending(1)) + pending(2).line)))
    for seq in (1, 2, 3):
        log.commit([pending(seq)], now_s=0)
    assert files.names() == [open_name(1), open_name(3)]
    (finished,) = log.finished
    assert finished.span == Span(first=1, last=2, earliest_ms=1000, latest_ms=2000)


def test_it_rolls_by_age() -> None:
    log = OpenSegment(FaultyFiles(), options=JournalOptions(segment_age_s=60))
    assert log.due_s(0) == float("inf"), "what is empty does not roll"
    log.commit([pending(1)], now_s=100)
    assert log.due_s(130) == 30
    log.commit([pending(2)], now_s=160)
    assert [finished.name for finished in log.finished] == [open_name(1)]


def test_after_a_failed_write_the_segment_is_truncated_and_finished() -> None:
    files = FaultyFiles()
    log = OpenSegment(files, options=JournalOptions())
    log.commit([pending(1)], now_s=0)
    files.error = errno.EIO
    with pytest.raises(OSError, match="Input/output error"):
        log.commit([pending(2)], now_s=0)
    assert files.size(open_name(1)) > len(pending(1).line), "half of the batch is there"
    with pytest.raises(OSError, match="Input/output error"):
        log.commit([pending(2)], now_s=0)
    files.error = None
    log.commit([pending(2), pending(3)], now_s=0)
    assert files.text(open_name(1)) == linked(pending(1))
    assert files.text(open_name(2)) == linked(pending(2), pending(3), after=linked(pending(1)))
    assert [finished.name for finished in log.finished] == [open_name(1)]


def test_a_segment_without_a_synced_record_is_removed() -> None:
    files = FaultyFiles()
    log = OpenSegment(files, options=JournalOptions())
    log.commit([pending(1)], now_s=0)
    log.roll()
    log.finished.clear()
    growing = files.create(open_name(2))
    growing.append(b"left by an attempt that created it and failed to say so")
    log.commit([pending(2)], now_s=0)
    assert files.text(open_name(2)) == linked(pending(2), after=linked(pending(1)))


def test_a_segment_deleted_while_open_is_reported_as_lost() -> None:
    files = FaultyFiles()
    log = OpenSegment(files, options=JournalOptions())
    log.commit([pending(1), pending(2)], now_s=0)
    del files.files[open_name(1)]
    with pytest.raises(FileNotFoundError):
        log.commit([pending(3)], now_s=0)
    log.commit([pending(3)], now_s=0)
    assert [(span.first, span.last) for span in log.lost] == [(1, 2)]
    assert files.names() == [open_name(3)]


def test_the_clock_may_go_back() -> None:
    log = OpenSegment(FaultyFiles(), options=JournalOptions())
    log.commit([pending(1, at_ms=5_000), pending(2, at_ms=1_000), pending(3, at_ms=2_000)], now_s=0)
    log.roll()
    assert log.finished[0].span == Span(first=1, last=3, earliest_ms=1_000, latest_ms=5_000)
