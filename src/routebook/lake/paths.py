"""Locations of lakes and journals: local paths, or any URI that Hadoop can open."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from routebook.errors import UsageError
from routebook.lake.errors import JournalUnreadable

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)


class Place:
    """A location, as text for Hadoop and, if it is local, as a Path."""

    __slots__ = ("local", "text")

    def __init__(self, given: str) -> None:
        found = _SCHEME.fullmatch(given)
        if found is None:
            self.local: Path | None = Path(given).expanduser().absolute()
        elif found[1].lower() == "file":
            self.local = Path("/" + found[2].lstrip("/"))
        else:
            self.local = None
        self.text = given.rstrip("/") if self.local is None else str(self.local)

    def child(self, name: str) -> str:
        """The location of an entry of this folder."""
        return f"{self.text}/{name}"

    def __str__(self) -> str:
        return self.text


def check_journal(place: Place) -> None:
    """Check a local journal folder before Spark starts. Remote folders are checked by Hadoop later."""
    if place.local is None:
        return
    try:
        with os.scandir(place.local) as entries:
            names = [entry.name for entry in entries if entry.is_file()]
    except FileNotFoundError:
        raise no_such_journal(place) from None
    except NotADirectoryError:
        raise journal_is_file(place) from None
    except PermissionError:
        raise journal_denied(place) from None
    except OSError as error:
        raise JournalUnreadable(f"--journal {place}: {error.strerror}") from None
    check_segments(place, names)


def check_segments(place: object, names: Sequence[str]) -> None:
    """Raises UsageError if the files of a folder are not those of a journal. An empty folder is accepted."""
    if names and not any(name.endswith((".jsonl", ".jsonl.zst")) or name == "reserved.json" for name in names):
        raise UsageError(
            f"--journal {place}: not a journal: it has {len(names)} files, but no segment (*.jsonl, *.jsonl.zst)"
        )


def no_such_journal(place: object) -> UsageError:
    return UsageError(f"--journal {place}: no such folder; give the journal folder of a server, such as HOME/journal")


def journal_is_file(place: object) -> UsageError:
    return UsageError(f"--journal {place}: this is a file; give the folder that contains it")


def journal_denied(place: object) -> JournalUnreadable:
    return JournalUnreadable(
        f"--journal {place}: permission denied; grant this user read access to the folder and its files"
    )
