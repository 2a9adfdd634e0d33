"""Rolling compresses a segment without losing or duplicating a record; retention deletes the oldest rolled segments."""

import errno
import random
import threading

import pytest
import zstandard

from routebook.journal.expired import read_expired
from routebook.journal.read.reader import Line, read
from routebook.journal.segments import Segment, Span, open_name
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.recover import inspect, repair
from routebook.journal.write.rolling import SegmentRoller, expired_segments, roll_segment
from tests.support.faulty_files import Crash, FaultyFiles
from tests.support.journal_events import linked, pending, write_segment

SPAN = Span(first=1, last=20, earliest_ms=1000, latest_ms=20_000)
DAY_MS = 86_400_000


def seqs(files: FaultyFiles) -> list[int]:
    return [item.record.seq for item in read(files) if isinstance(item, Line)]


def test_a_rolled_segment_is_one_plain_zstd_frame() -> None:
    files = FaultyFiles()
    write_segment(files, 1, 20)
    name = roll_segment(files, open_name(1), SPAN)
    assert files.names() == [name]
    with zstandard.ZstdDecompressor().stream_reader(files.open(name)) as text:
        assert text.read() == linked(*(pending(seq) for seq in range(1, 21)))


@pytest.mark.parametrize("seed", range(4))
def test_a_crash_at_any_call_neither_loses_nor_duplicates_records(seed: int) -> None:
    for crash_in in range(20):
        files = FaultyFiles(rng=random.Random(seed))
        write_segment(files, 1, 20)
        files.crash_in = crash_in
        try:
            roll_segment(files, open_name(1), SPAN)
        except Crash:
            files = files.after_crash()
        else:
            assert crash_in >= 6, "the crash did not happen"
            return
        assert seqs(files) == list(range(1, 21))
        repair(files, inspect(files, ns="n", options=JournalOptions()))
        assert seqs(files) == list(range(1, 21))
        assert len(files.names()) == 1
    pytest.fail("rolling makes more calls than were tried")


def test_a_full_disk_leaves_the_plain_segment() -> None:
    files = FaultyFiles()
    write_segment(files, 1, 20)
    files.error = errno.ENOSPC
    with pytest.raises(OSError, match="No space left"):
        roll_segment(files, open_name(1), SPAN)
    assert seqs(files) == list(range(1, 21))
    files.error = None
    roll_segment(files, open_name(1), SPAN)
    assert seqs(files) == list(range(1, 21))


# -- retention


def rolled(number: int, *, latest_ms: int) -> Segment:
    return Segment(f"s{number}", number, Span(first=number, last=number, earliest_ms=0, latest_ms=latest_ms))


SEGMENTS = [rolled(1, latest_ms=1 * DAY_MS), rolled(2, latest_ms=2 * DAY_MS), rolled(3, latest_ms=9 * DAY_MS)]
OPEN = Segment("s4", 4)
SIZES = {"s1": 100, "s2": 100, "s3": 100, "s4": 100}


def expired(segments: list[Segment], *, age_days: int = 1000, size: int = 10**9) -> list[str]:
    options = JournalOptions(retain_age_s=age_days * 86_400, retain_bytes=size)
    return [
        segment.name
        for segment in expired_segments(
            segments, SIZES, before_ms=10 * DAY_MS - options.retain_age_s * 1000, retain_bytes=options.retain_bytes
        )
    ]


def test_segments_within_retention_are_kept() -> None:
    assert expired([*SEGMENTS, OPEN]) == []


def test_old_segments_expire() -> None:
    assert expired([*SEGMENTS, OPEN], age_days=8) == ["s1"]
    assert expired([*SEGMENTS, OPEN], age_days=7) == ["s1", "s2"]


def test_the_oldest_segments_expire_when_the_total_size_is_exceeded() -> None:
    assert expired([*SEGMENTS, OPEN], size=399) == ["s1"]
    assert expired([*SEGMENTS, OPEN], size=200) == ["s1", "s2"]


def test_segments_that_are_not_rolled_never_expire() -> None:
    assert expired([*SEGMENTS, OPEN], size=0) == ["s1", "s2", "s3"]
    assert expired([OPEN], size=0, age_days=0) == []


def test_retention_leaves_no_gap_when_the_clock_went_back() -> None:
    ahead = rolled(1, latest_ms=99 * DAY_MS)
    assert expired([ahead, *SEGMENTS[1:]], age_days=1) == []


# -- the background thread


def span(first: int, last: int) -> Span:
    return Span(first=first, last=last, earliest_ms=first * 1000, latest_ms=last * 1000)


def roller_of(files: FaultyFiles, *, now_ms: int = 9_000, retain_age_s: int = 30 * 86_400) -> SegmentRoller:
    return SegmentRoller(files, options=JournalOptions(retain_age_s=retain_age_s), now_ms=lambda: now_ms)


def test_only_finished_segments_are_rolled() -> None:
    files = FaultyFiles()
    write_segment(files, 1, 5)
    write_segment(files, 6, 9)
    roller = roller_of(files)
    roller.finished({open_name(1): span(1, 5)})
    roller.run_once()
    roller.run_once()
    assert [name.endswith(".zst") for name in files.names()] == [True, False]
    assert roller.rolled == 1


def test_segments_past_retention_are_deleted() -> None:
    files = FaultyFiles()
    write_segment(files, 1, 5, roll=True)
    write_segment(files, 6, 9, roll=True)
    roller = roller_of(files, now_ms=16_000, retain_age_s=10)
    roller.run_once()
    assert [name[:20] for name in files.names()] == ["00000000000000000006", "expired.json"]
    assert read_expired(files) == 5
    assert roller.removed == 1


def test_a_failure_is_reported_and_retried() -> None:
    files = FaultyFiles()
    write_segment(files, 1, 5)
    roller = roller_of(files)
    roller.finished({open_name(1): span(1, 5)})
    files.error = errno.ENOSPC
    roller.run_once()
    assert "No space left" in str(roller.problem)
    files.error = None
    roller.run_once()
    assert (roller.problem, roller.rolled) == (None, 1)


def test_a_missing_segment_does_not_block_the_others() -> None:
    files = FaultyFiles()
    write_segment(files, 6, 9)
    roller = roller_of(files)
    roller.finished({open_name(1): span(1, 5), open_name(6): span(6, 9)})
    roller.run_once()
    assert (roller.problem, roller.rolled) == (None, 1)


def test_the_thread_rolls_a_finished_segment() -> None:
    done = threading.Event()

    class Watched(FaultyFiles):
        def remove(self, name: str) -> None:
            super().remove(name)
            if name == open_name(1):
                done.set()

    files = Watched()
    write_segment(files, 1, 5)
    done.clear()
    roller = roller_of(files)
    roller.start()
    roller.finished({open_name(1): span(1, 5)})
    assert done.wait(30)
    roller.stop()
    assert roller.rolled == 1


def damaged(roller: SegmentRoller) -> tuple[str, ...]:
    return roller.damaged


def test_a_damaged_rolled_segment_is_found_and_reported_until_it_is_restored() -> None:
    files = FaultyFiles()
    names = [write_segment(files, first, first + 4, roll=True) for first in (1, 6, 11)]
    whole = files.text(names[1])
    files.put(names[1], whole[:30] + bytes([whole[30] ^ 1]) + whole[31:])
    roller = roller_of(files)
    for _ in range(4):
        roller.run_once()
    (found,) = damaged(roller)
    assert found.startswith(f"{names[1]}: the compressed data ")
    files.put(names[1], whole)
    for _ in range(3):
        roller.run_once()
    assert not damaged(roller)
    files.put(names[2], b"")
    for _ in range(3):
        roller.run_once()
    assert len(damaged(roller)) == 1
    files.remove(names[2])
    roller.run_once()
    assert not damaged(roller)
