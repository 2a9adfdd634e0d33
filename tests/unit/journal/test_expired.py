"""The file that states what retention removed."""

from routebook.journal.expired import read_expired, write_expired
from routebook.journal.segments import EXPIRED_NAME
from tests.support.faulty_files import FaultyFiles


def test_the_last_number_is_kept() -> None:
    files = FaultyFiles()
    assert read_expired(files) == 0
    write_expired(files, 2**63 - 1)
    write_expired(files, 7)
    assert read_expired(files) == 7
    assert files.files[EXPIRED_NAME].synced == files.size(EXPIRED_NAME)


def test_a_damaged_file_counts_as_missing() -> None:
    files = FaultyFiles()
    files.put(EXPIRED_NAME, b'{"last"')
    assert read_expired(files) == 0
