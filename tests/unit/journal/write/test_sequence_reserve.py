"""The sequence reserve: written in place, ignored if torn."""

import pytest

from routebook.journal.segments import RESERVE_NAME
from routebook.journal.write.sequence_reserve import SequenceReserve, read_reserve, write_reserve
from tests.support.faulty_files import FaultyFiles


@pytest.mark.parametrize("reserve", [SequenceReserve(reserved=1), SequenceReserve(reserved=2**62, clean=True)])
def test_a_round_trip(reserve: SequenceReserve) -> None:
    files = FaultyFiles()
    write_reserve(files, SequenceReserve(reserved=123456))
    length = files.size(RESERVE_NAME)
    write_reserve(files, reserve)
    assert read_reserve(files) == reserve
    assert files.size(RESERVE_NAME) == length, "written in place: it needs no disk space"


def test_a_missing_file_is_none() -> None:
    assert read_reserve(FaultyFiles()) is None


def test_a_torn_file_is_ignored() -> None:
    files = FaultyFiles()
    write_reserve(files, SequenceReserve(reserved=11111))
    old = files.text(RESERVE_NAME)
    write_reserve(files, SequenceReserve(reserved=22222))
    new = files.text(RESERVE_NAME)
    for cut in range(len(new) + 1):
        files.put(RESERVE_NAME, new[:cut] + old[cut:])
        assert read_reserve(files) in (None, SequenceReserve(reserved=11111), SequenceReserve(reserved=22222))
    files.put(RESERVE_NAME, b"\x00" * 20)
    assert read_reserve(files) is None
