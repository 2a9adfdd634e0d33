"""Rolling: compressed by any zstd reader's rules, and at every moment readers find each record once."""

import errno
import random

import pytest
import zstandard

from routebook.journal.read.reader import Line, read
from routebook.journal.segments import Span, open_name
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.recover import inspect, repair
from routebook.journal.write.rolling import roll_segment
from tests.support.faulty_files import Crash, FaultyFiles
from tests.support.journal_events import pending, write_segment

SPAN = Span(first=1, last=20, earliest_ms=1000, latest_ms=20_000)


def seqs(files: FaultyFiles) -> list[int]:
    return [item.record.seq for item in read(files) if isinstance(item, Line)]


def test_a_rolled_segment_is_one_plain_zstd_frame() -> None:
    files = FaultyFiles()
    write_segment(files, 1, 20)
    name = roll_segment(files, open_name(1), SPAN)
    assert files.names() == [name]
    with zstandard.ZstdDecompressor().stream_reader(files.open(name)) as text:
        assert text.read() == b"".join(pending(seq).line for seq in range(1, 21))


@pytest.mark.parametrize("seed", range(4))
def test_a_crash_at_any_call_loses_and_doubles_nothing(seed: int) -> None:
    for crash_in in range(20):
        files = FaultyFiles(rng=random.Random(seed))
        write_segment(files, 1, 20)
        files.crash_in = crash_in
        try:
            roll_segment(files, open_name(1), SPAN)
        except Crash:
            files = files.after_crash()
        else:
            assert crash_in >= 6, "the crash was to come"
            return
        assert seqs(files) == list(range(1, 21))
        repair(files, inspect(files, ns="n", options=JournalOptions()))
        assert seqs(files) == list(range(1, 21))
        assert len(files.names()) == 1
    pytest.fail("rolling has more calls than were tried")


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
