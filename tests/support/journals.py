"""Reads the journal of a home folder."""

from pathlib import Path
from typing import TypeVar

from routebook.journal.files import FolderFiles
from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Line, read
from routebook.journal.record import Record

T = TypeVar("T")


def records(home: Path) -> list[Record]:
    """All records; a damaged one is an error."""
    found = []
    for item in read(FolderFiles(home / "journal")):
        assert not isinstance(item, Damage), item
        if isinstance(item, Line):
            found.append(item.record)
    return found


def events(home: Path, kind: type[T]) -> list[T]:
    """All events of one kind, in order."""
    return [record.event for record in records(home) if isinstance(record.event, kind)]


def kinds(home: Path, *, after: int = 0) -> list[str]:
    """The kinds of all events in order, except minute rollups and journal holes."""
    passed_over = {"heartbeat_minute", "lookup_minute", "journal_hole"}
    return [record.kind for record in records(home) if record.seq > after and record.kind not in passed_over]


def last_seq(home: Path) -> int:
    return max((record.seq for record in records(home)), default=0)
