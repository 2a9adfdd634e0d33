"""The SQLite schema of the history index, and checks whether a file is usable.

    topics brokers words   id ↔ name
    marks                  each event that can change an answer: time and kind; `run` is the first event of the
                           request that caused it
    groups                 broker → its members and flags from this event on; NULL: removed
    singles                topic, broker → its queues from this event on; NULL: none
    pieces, contents       the same for many topics at once: 256 topics, by id, share a bucket, and equal contents are
                           stored once for all brokers. A broker that returns with 10,000 topics adds 40 short rows
    laid                   which contents a broker ever had in a bucket
    ops                    changes of all queues of a broker: removed, write permission removed, permissions restored
    mappings               topic, broker → its static mapping from this event on; NULL: none
    sets                   broker set → the Controller's state of it from this event on; NULL: removed
    elections              the events of elections
    boots, holes           when the NameServer was up; which records the journal lost
    meta                   progress of the index

The state at a sequence number is given by the last row not after it. Only `boots` and `meta` are ever updated.
"""

import sqlite3
from enum import IntEnum
from pathlib import Path
from typing import Final

import msgspec

APPLICATION_ID: Final = 0x52424B48  # RBKH
SCHEMA_VERSION: Final = 2

_TABLES: Final = """
CREATE TABLE topics (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);
CREATE TABLE brokers (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);
CREATE TABLE words (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);
CREATE TABLE marks (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, at_max INTEGER NOT NULL, run INTEGER NOT NULL,
                    kind INTEGER NOT NULL, why INTEGER, peer INTEGER, who INTEGER);
CREATE TABLE groups (broker INTEGER, seq INTEGER, state BLOB, PRIMARY KEY (broker, seq)) WITHOUT ROWID;
CREATE TABLE singles (topic INTEGER, broker INTEGER, seq INTEGER, perm INTEGER, read INTEGER, write INTEGER,
                      flag INTEGER, PRIMARY KEY (topic, broker, seq)) WITHOUT ROWID;
CREATE TABLE pieces (bucket INTEGER, broker INTEGER, seq INTEGER, content INTEGER NOT NULL,
                     PRIMARY KEY (bucket, broker, seq)) WITHOUT ROWID;
CREATE TABLE contents (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, body BLOB NOT NULL);
CREATE TABLE laid (bucket INTEGER, broker INTEGER, content INTEGER, PRIMARY KEY (bucket, broker, content))
                  WITHOUT ROWID;
CREATE TABLE ops (broker INTEGER, seq INTEGER, op INTEGER NOT NULL, PRIMARY KEY (broker, seq)) WITHOUT ROWID;
CREATE TABLE mappings (topic INTEGER, broker INTEGER, seq INTEGER, info BLOB, PRIMARY KEY (topic, broker, seq))
                      WITHOUT ROWID;
CREATE TABLE sets (broker INTEGER, seq INTEGER, epoch INTEGER, state BLOB, PRIMARY KEY (broker, seq)) WITHOUT ROWID;
CREATE TABLE elections (seq INTEGER PRIMARY KEY, broker INTEGER NOT NULL, kind TEXT NOT NULL, event BLOB NOT NULL);
CREATE TABLE boots (boot TEXT PRIMARY KEY, first_seq INTEGER NOT NULL, from_ms INTEGER NOT NULL,
                    to_ms INTEGER NOT NULL, stopped INTEGER NOT NULL);
CREATE TABLE holes (first INTEGER, last INTEGER, why TEXT NOT NULL, PRIMARY KEY (first, last)) WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""


class Unusable(Exception):
    """The file is not an index of this schema version; the message says what it is."""


class Op(IntEnum):
    """A change of all queues of a broker."""

    GONE = 0
    WIPED = 1
    RESTORED = 2


class Progress(msgspec.Struct, kw_only=True):
    """How far the index has read. `at_max` is the running maximum of record times, which queries use as the time."""

    ns: str = ""
    boot: str = ""
    first_seq: int = 0  # the first record within retention; 0: none
    first_at: int = 0
    last_seq: int = 0
    last_at: int = 0
    at_max: int = 0
    headless: bool = False  # the journal's beginning was already deleted when the index was created

    @property
    def empty(self) -> bool:
        return not self.last_seq


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Connect without implicit transactions. Any thread may use the connection, one at a time."""
    uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=10)
    db.execute("PRAGMA cache_size = -4096")
    return db


def open_index(path: Path) -> sqlite3.Connection:
    """Open the index for writing, creating it if needed. Raises Unusable or sqlite3.Error."""
    db = connect(path)
    try:
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            _create(db)
        check(db)
        db.execute("PRAGMA synchronous = NORMAL")  # rows lost in a power cut are read from the journal again
        db.execute("PRAGMA wal_autocheckpoint = 1000")
        db.execute(f"PRAGMA journal_size_limit = {16 << 20}")
    except BaseException:  # cleanup only: re-raised
        db.close()
        raise
    return db


def check(db: sqlite3.Connection) -> None:
    """Raise Unusable unless this is an index of this schema version."""
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise Unusable("not a history index")
    if version != SCHEMA_VERSION:
        raise Unusable(f"history index of schema version {version}; this release uses version {SCHEMA_VERSION}")


def read_progress(db: sqlite3.Connection) -> Progress:
    """Read the progress of the index."""
    return msgspec.convert(dict(db.execute("SELECT key, value FROM meta")), Progress, strict=False)


def write_progress(db: sqlite3.Connection, progress: Progress) -> None:
    """Store the progress, in the transaction of its batch."""
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", msgspec.structs.asdict(progress).items())


def set_aside(path: Path) -> Path:
    """Rename the file and delete its WAL; an earlier file that was set aside is replaced."""
    aside = path.with_name(path.name + ".set-aside")
    path.replace(aside)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return aside


def _create(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(
        f"BEGIN; {_TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
    )
