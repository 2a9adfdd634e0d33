"""The promise about numbers: written in place, believed only whole."""

import pytest

from routebook.journal.segments import MARK_NAME
from routebook.journal.write.sequence_reserve import Mark, read_mark, write_mark
from tests.support.faulty_files import FaultyFiles


@pytest.mark.parametrize("mark", [Mark(reserved=1), Mark(reserved=2**62, clean=True)])
def test_it_comes_back(mark: Mark) -> None:
    files = FaultyFiles()
    write_mark(files, Mark(reserved=123456))
    length = files.size(MARK_NAME)
    write_mark(files, mark)
    assert read_mark(files) == mark
    assert files.size(MARK_NAME) == length, "written in place: it never needs room"


def test_there_may_be_none() -> None:
    assert read_mark(FaultyFiles()) is None


def test_a_torn_one_is_not_believed() -> None:
    files = FaultyFiles()
    write_mark(files, Mark(reserved=11111))
    old = files.text(MARK_NAME)
    write_mark(files, Mark(reserved=22222))
    new = files.text(MARK_NAME)
    for cut in range(len(new) + 1):
        files.put(MARK_NAME, new[:cut] + old[cut:])
        assert read_mark(files) in (None, Mark(reserved=11111), Mark(reserved=22222))
    files.put(MARK_NAME, b"\x00" * 20)
    assert read_mark(files) is None
