"""`expired.json`: how far retention has removed the beginning of a journal, so that any other loss shows."""

import msgspec

from routebook.journal.files import Files
from routebook.journal.record import UNREADABLE
from routebook.journal.segments import EXPIRED_NAME


class _Expired(msgspec.Struct, frozen=True):
    """Retention removed all records up to `last`."""

    last: int


def write_expired(files: Files, last: int) -> None:
    """Write and sync the file; in place, which works on a full disk. Raises OSError."""
    files.overwrite(EXPIRED_NAME, msgspec.json.encode(_Expired(last)).ljust(40) + b"\n")


def read_expired(files: Files) -> int:
    """Return the last number that retention removed; 0: none is known. Raises OSError."""
    try:
        with files.open(EXPIRED_NAME) as file:
            return msgspec.json.decode(file.read(), type=_Expired).last
    except (FileNotFoundError, *UNREADABLE):
        return 0
