"""Where a lake or a journal is: a path of this machine, or any address that Hadoop can open."""

import os
import re
from pathlib import Path
from typing import Final

from routebook.errors import UsageError
from routebook.lake.errors import JournalUnreadable

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)


class Place:
    """One such path, as text for Hadoop and, where it is on this machine, as a Path."""

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
        """What stands in this folder."""
        return f"{self.text}/{name}"

    def __str__(self) -> str:
        return self.text


def check_journal(place: Place) -> None:
    """Say what is wrong with a folder of this machine, before Spark is started. Others are Hadoop's to judge."""
    if place.local is None:
        return
    try:
        with os.scandir(place.local) as entries:
            names = [entry.name for entry in entries if entry.is_file()]
    except FileNotFoundError:
        raise UsageError(
            f"--journal {place}: no such folder; name a server's journal folder, as HOME/journal"
        ) from None
    except NotADirectoryError:
        raise UsageError(f"--journal {place}: a file; name the folder that it is in") from None
    except PermissionError:
        raise JournalUnreadable(
            f"--journal {place}: permission denied; let this user read the folder and its files"
        ) from None
    except OSError as error:
        raise JournalUnreadable(f"--journal {place}: {error.strerror}") from None
    if names and not any(name.endswith((".jsonl", ".jsonl.zst")) or name == "reserved.json" for name in names):
        raise UsageError(
            f"--journal {place}: not a journal: none of its {len(names)} files is a segment (*.jsonl, *.jsonl.zst)"
        )
