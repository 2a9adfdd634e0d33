"""Recovery after a crash, disk damage or manual changes."""

import msgspec
import pytest

from routebook.errors import JournalError, JournalForeign, JournalVersion
from routebook.events import JournalHole
from routebook.journal.read.reader import Hole, Line, read
from routebook.journal.segments import open_name
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.recover import Inspection, inspect, repair
from routebook.journal.write.sequence_reserve import SequenceReserve, write_reserve
from tests.support.faulty_files import FaultyFiles
from tests.support.journal_events import pending, write_segment

OPTIONS = JournalOptions(queue_records=10)


def look(files: FaultyFiles, *, at_least: int = 1) -> Inspection:
    return inspect(files, ns="n", at_least=at_least, options=OPTIONS)


def seqs(files: FaultyFiles) -> list[int]:
    return [item.record.seq for item in read(files) if isinstance(item, Line)]


def stopped_cleanly(last: int) -> FaultyFiles:
    files = FaultyFiles()
    write_segment(files, 1, last)
    write_reserve(files, SequenceReserve(reserved=last, clean=True))
    return files


def test_an_empty_folder_starts_with_number_1() -> None:
    found = look(FaultyFiles())
    assert (found.next_seq, found.skipped) == (1, None)


def test_after_a_clean_stop_numbers_continue_without_a_gap() -> None:
    found = look(stopped_cleanly(5))
    assert (found.next_seq, found.skipped, found.holes, found.damage) == (6, None, (), ())


def test_after_a_crash_numbers_continue_after_the_reserve() -> None:
    files = stopped_cleanly(5)
    write_reserve(files, SequenceReserve(reserved=30))
    found = look(files)
    assert found.next_seq == 31
    assert found.skipped == Hole(first=6, last=30, why="numbers skipped after a crash", certain=False)


def test_a_crash_before_the_first_record_skips_the_reserved_numbers() -> None:
    files = FaultyFiles()
    write_reserve(files, SequenceReserve(reserved=20))
    assert look(files).next_seq == 21


@pytest.mark.parametrize("reserve", [None, b"torn", b""])
def test_without_a_reserve_enough_numbers_are_skipped(reserve: bytes | None) -> None:
    files = stopped_cleanly(5)
    del files.files["reserved.json"]
    if reserve is not None:
        files.put("reserved.json", reserve)
    assert look(files).next_seq == 46


def test_an_outdated_reserve_is_ignored() -> None:
    files = stopped_cleanly(5)
    write_reserve(files, SequenceReserve(reserved=3, clean=True))
    assert look(files).next_seq == 46


def test_the_minimum_given_by_the_caller_counts() -> None:
    found = look(FaultyFiles(), at_least=500)
    assert found.next_seq == 500
    assert found.skipped is not None
    assert (found.skipped.first, found.skipped.last) == (1, 499)


def test_the_newest_segment_was_removed_while_the_server_was_down() -> None:
    files = stopped_cleanly(5)
    write_segment(files, 6, 9)
    write_reserve(files, SequenceReserve(reserved=9, clean=True))
    del files.files[open_name(6)]
    found = look(files)
    assert found.next_seq == 10
    assert found.skipped == Hole(first=6, last=9, why="the newest records were missing at start")


def test_a_torn_last_line_is_truncated_and_reported() -> None:
    files = stopped_cleanly(5)
    whole = files.text(open_name(1))
    files.put(open_name(1), whole + b'{"v":1,"ns":"n"')
    found = look(files)
    assert found.torn_bytes == 15
    assert found.next_seq == 6
    repair(files, found)
    assert files.text(open_name(1)) == whole


def test_a_segment_with_only_a_torn_line_is_removed() -> None:
    files = stopped_cleanly(5)
    files.put(open_name(6), b"{")
    files.put(open_name(7), b"")
    repair(files, look(files))
    assert open_name(6) not in files.names()
    assert open_name(7) not in files.names()


def test_a_corrupt_middle_is_set_aside_and_later_lines_are_kept() -> None:
    files = stopped_cleanly(6)
    lines = files.text(open_name(1)).splitlines(keepends=True)
    lines[1] = b"#" * (len(lines[1]) - 1) + b"\n"
    lines[2] = b"\x00\xff\n"
    lines[4] = lines[4].replace(b'"seq":5', b'"seq":1')
    files.put(open_name(1), b"".join(lines))
    found = look(files)
    assert found.holes == (Hole(first=2, last=3), Hole(first=5, last=5))
    damages = repair(files, found)
    assert [(damage.line, damage.size) for damage in damages] == [(2, len(lines[1]) + 3), (5, len(lines[4]))]
    assert damages[1].reason == "number 1 does not follow 4"
    saved = [str(damage.saved_as) for damage in damages]
    assert [files.text(name) for name in saved] == [lines[1] + lines[2], lines[4]]
    assert seqs(files) == [1, 4, 6]
    assert look(files).damage == ()


def test_earlier_set_aside_files_are_kept() -> None:
    files = stopped_cleanly(2)
    for content in (b"first\n", b"again\n"):
        files.put(open_name(1), content + pending(2).line)
        repair(files, look(files))
    kept = sorted(files.text(name) for name in files.names() if name.endswith(".corrupt"))
    assert kept == [b"again\n", b"first\n"]


def test_damage_at_the_beginning_does_not_change_the_first_number() -> None:
    files = stopped_cleanly(3)
    lines = files.text(open_name(1)).splitlines(keepends=True)
    files.put(open_name(1), b"bad\n" + b"".join(lines[1:]))
    found = look(files)
    assert found.holes == (Hole(first=1, last=1),)
    assert found.examined[0].span is not None
    assert found.examined[0].span.first == 1


def test_a_segment_without_a_valid_line_is_set_aside() -> None:
    files = stopped_cleanly(5)
    files.put(open_name(6), b"bad\nworse\n")
    (damage,) = repair(files, look(files))
    assert files.text(str(damage.saved_as)) == b"bad\nworse\n"
    assert open_name(6) not in files.names()
    assert seqs(files) == [1, 2, 3, 4, 5]


def test_a_deleted_segment_is_reported_as_a_hole() -> None:
    files = FaultyFiles()
    for first in (1, 11, 21):
        write_segment(files, first, first + 9, roll=first < 21)
    write_reserve(files, SequenceReserve(reserved=30, clean=True))
    assert look(files).holes == ()
    del files.files[next(name for name in files.names() if name.startswith("00000000000000000011"))]
    assert look(files).holes == (Hole(first=11, last=20),)


def test_a_recorded_hole_is_not_reported_again() -> None:
    files = FaultyFiles()
    write_segment(files, 1, 3)
    hole = JournalHole(first_missing=4, last_missing=8, count=5, why="disk full")
    files.put(open_name(9), pending(9, event=hole).line + pending(10).line)
    assert look(files).holes == ()


def test_an_interrupted_roll_is_completed() -> None:
    files = FaultyFiles()
    plain = write_segment(files, 1, 5)
    text = files.text(plain)
    files.remove(plain)
    rolled = write_segment(files, 1, 5, roll=True)
    files.put(plain, text)
    files.put(rolled + ".tmp", b"half")
    repair(files, look(files))
    assert files.names() == [rolled]


def test_a_rolled_segment_that_differs_from_its_plain_form_is_set_aside() -> None:
    files = FaultyFiles()
    plain = write_segment(files, 1, 5)
    text = files.text(plain)
    rolled = write_segment(files, 1, 5, roll=True)
    files.put(rolled, files.text(rolled)[:-4] + b"oops")
    files.put(plain, text)
    found = look(files)
    (damage,) = repair(files, found)
    assert damage.saved_as == rolled + ".corrupt"
    assert files.names() == sorted([plain, rolled + ".corrupt"])
    assert seqs(files) == [1, 2, 3, 4, 5]


def test_a_file_with_an_invalid_segment_name_is_reported_and_kept() -> None:
    files = stopped_cleanly(1)
    files.put("copy.jsonl", b"x\n")
    (damage,) = repair(files, look(files))
    assert damage.file == "copy.jsonl"
    assert files.text("copy.jsonl") == b"x\n"


def test_the_journal_of_another_nameserver_is_rejected() -> None:
    with pytest.raises(JournalForeign, match=r"belongs to NameServer n, but this is m: restore"):
        inspect(stopped_cleanly(1), ns="m", options=OPTIONS)


def test_a_journal_of_another_format_is_rejected_unchanged() -> None:
    files = stopped_cleanly(1)
    files.put(open_name(2), pending(2).line.replace(b'"v":1', b'"v":2'))
    with pytest.raises(JournalVersion, match=r"00000000000000000002.jsonl, line 1: journal format version 2"):
        look(files)


def test_an_unreadable_folder_is_reported() -> None:
    class Unreadable(FaultyFiles):
        def names(self) -> list[str]:
            raise PermissionError(13, "Permission denied", "journal")

    with pytest.raises(JournalError, match=r"the journal cannot be read: .*Permission denied"):
        look(Unreadable())


def test_repair_is_idempotent() -> None:
    files = stopped_cleanly(4)
    files.put(open_name(1), files.text(open_name(1)).replace(b'"seq":2', b'"seq":"') + b"torn")
    repair(files, look(files))
    once = {name: files.text(name) for name in files.names()}
    repair(files, look(files))
    assert {name: files.text(name) for name in files.names()} == once
    assert msgspec.structs.asdict(look(files))["damage"] == ()
