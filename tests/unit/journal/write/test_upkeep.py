"""Upkeep: rolls what is finished, forgets what is old, and survives a disk that does not let it."""

import errno
import threading

from routebook.journal.segments import Span, open_name
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.upkeep import Upkeep
from tests.support.faulty_files import FaultyFiles
from tests.support.journal_events import write_segment


def span(first: int, last: int) -> Span:
    return Span(first=first, last=last, earliest_ms=first * 1000, latest_ms=last * 1000)


def test_it_rolls_what_is_finished_and_nothing_else() -> None:
    files = FaultyFiles()
    write_segment(files, 1, 5)
    write_segment(files, 6, 9)
    upkeep = Upkeep(files, options=JournalOptions(), now_ms=lambda: 9_000)
    upkeep.finished({open_name(1): span(1, 5)})
    upkeep.round()
    upkeep.round()
    assert [name.endswith(".zst") for name in files.names()] == [True, False]
    assert upkeep.rolled == 1


def test_it_forgets_what_is_past_retention() -> None:
    files = FaultyFiles()
    write_segment(files, 1, 5, roll=True)
    write_segment(files, 6, 9, roll=True)
    upkeep = Upkeep(files, options=JournalOptions(retain_age_s=10), now_ms=lambda: 16_000)
    upkeep.round()
    assert [name[:20] for name in files.names()] == ["00000000000000000006"]
    assert upkeep.removed == 1


def test_what_fails_is_told_and_tried_again() -> None:
    files = FaultyFiles()
    write_segment(files, 1, 5)
    upkeep = Upkeep(files, options=JournalOptions(), now_ms=lambda: 9_000)
    upkeep.finished({open_name(1): span(1, 5)})
    files.error = errno.ENOSPC
    upkeep.round()
    assert "No space left" in str(upkeep.problem)
    files.error = None
    upkeep.round()
    assert (upkeep.problem, upkeep.rolled) == (None, 1)


def test_a_segment_that_is_gone_does_not_hold_up_the_others() -> None:
    files = FaultyFiles()
    write_segment(files, 6, 9)
    upkeep = Upkeep(files, options=JournalOptions(), now_ms=lambda: 9_000)
    upkeep.finished({open_name(1): span(1, 5), open_name(6): span(6, 9)})
    upkeep.round()
    assert (upkeep.problem, upkeep.rolled) == (None, 1)


def test_it_works_on_its_own_thread() -> None:
    done = threading.Event()

    class Watched(FaultyFiles):
        def remove(self, name: str) -> None:
            super().remove(name)
            if name == open_name(1):
                done.set()

    files = Watched()
    write_segment(files, 1, 5)
    done.clear()
    upkeep = Upkeep(files, options=JournalOptions(), now_ms=lambda: 9_000)
    upkeep.start()
    upkeep.finished({open_name(1): span(1, 5)})
    assert done.wait(30)
    upkeep.stop()
    assert upkeep.rolled == 1
