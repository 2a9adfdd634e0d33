"""A promise on disk: numbers up to `reserved` may have been handed out, so a start after a crash goes on beyond.

It is renewed every few ten thousand records and written in place, so that it can be renewed on a full disk. It is
written twice in itself: if a power cut tears it, the halves differ and it is not believed.
"""

import contextlib

import msgspec

from routebook.journal.files import Files
from routebook.journal.record import UNREADABLE
from routebook.journal.segments import MARK_NAME


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """`clean` is true after an orderly stop: then `reserved` is the last number that was handed out."""

    reserved: int
    clean: bool = False


class _Written(msgspec.Struct, frozen=True):
    mark: Mark
    again: Mark


def write_mark(files: Files, mark: Mark) -> None:
    """Put it on disk. Raises OSError."""
    files.overwrite(MARK_NAME, msgspec.json.encode(_Written(mark, mark)).ljust(160) + b"\n")


def read_mark(files: Files) -> Mark | None:
    """None if there is none, or none to be believed. Raises OSError other than that it is missing."""
    with contextlib.suppress(FileNotFoundError, *UNREADABLE), files.open(MARK_NAME) as file:
        written = msgspec.json.decode(file.read(), type=_Written)
        if written.mark == written.again:
            return written.mark
    return None
