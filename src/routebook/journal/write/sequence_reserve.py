"""The sequence reserve: a file with an upper bound of the sequence numbers in use, so none is reused after a crash.

The file is renewed every few ten thousand records. It is overwritten in place, which works on a full disk, and holds
its content twice: if a power cut tears it, the halves differ and it is ignored.
"""

import contextlib

import msgspec

from routebook.journal.files import Files
from routebook.journal.record import UNREADABLE
from routebook.journal.segments import RESERVE_NAME


class SequenceReserve(msgspec.Struct, frozen=True, kw_only=True):
    """`clean` is true after a clean shutdown: then `reserved` is the last sequence number assigned."""

    reserved: int
    clean: bool = False


class _Content(msgspec.Struct, frozen=True):
    mark: SequenceReserve
    again: SequenceReserve


def write_reserve(files: Files, reserve: SequenceReserve) -> None:
    """Write and sync the file. Raises OSError."""
    files.overwrite(RESERVE_NAME, msgspec.json.encode(_Content(reserve, reserve)).ljust(160) + b"\n")


def read_reserve(files: Files) -> SequenceReserve | None:
    """Return None if the file is missing or damaged. Raises OSError for other failures."""
    with contextlib.suppress(FileNotFoundError, *UNREADABLE), files.open(RESERVE_NAME) as file:
        content = msgspec.json.decode(file.read(), type=_Content)
        if content.mark == content.again:
            return content.mark
    return None
