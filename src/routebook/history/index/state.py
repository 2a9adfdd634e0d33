"""How far an index is: the row of `meta` and the newest marks, read once and written with every batch."""

import sqlite3
from enum import IntEnum

import msgspec


class Op(IntEnum):
    """What happened to all queues of a broker."""

    GONE = 0
    WIPED = 1
    RESTORED = 2


class Progress(msgspec.Struct, kw_only=True):
    """What the index has read. `at_max` is the latest time of any record so far: time as questions understand it."""

    ns: str = ""
    boot: str = ""
    first_seq: int = 0  # the first record that is kept; 0: there is none
    first_at: int = 0
    last_seq: int = 0
    last_at: int = 0
    at_max: int = 0
    headless: bool = False  # the journal's beginning was gone when this index was made

    @property
    def empty(self) -> bool:
        return not self.last_seq


def read_progress(db: sqlite3.Connection) -> Progress:
    """How far it is."""
    return msgspec.convert(dict(db.execute("SELECT key, value FROM meta")), Progress, strict=False)


def write_progress(db: sqlite3.Connection, progress: Progress) -> None:
    """With the batch that got so far."""
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", msgspec.structs.asdict(progress).items())
