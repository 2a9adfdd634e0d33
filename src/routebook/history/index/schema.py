"""The file: its tables, and how one that cannot be used is told from one that can.

    topics brokers words   id ↔ name
    marks                  each event that can change an answer: when, what kind; `run` is the first of those that
                           one request brought about
    groups                 broker → its members and flags from this event on; NULL: gone
    singles                topic, broker → its queues from this event on; NULL: none
    pieces, contents       the same for many topics at once: 256 topics, by their ids, share a bucket, and equal
                           contents are kept once, whichever broker has them: a broker that comes back with ten
                           thousand topics is forty short rows
    laid                   which contents a broker ever had in a bucket
    ops                    what happened to all queues of a broker: gone, not writable, readable and writable
    mappings               topic, broker → its static mapping from this event on; NULL: none
    boots, holes           when the NameServer was up; what the journal has lost
    meta                   how far the index is

What holds at a number is the last row not after it; nothing is ever updated but `boots` and `meta`.
"""

import sqlite3
from pathlib import Path
from typing import Final

APPLICATION_ID: Final = 0x52424B48  # RBKH
SCHEMA_VERSION: Final = 1

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
CREATE TABLE boots (boot TEXT PRIMARY KEY, first_seq INTEGER NOT NULL, from_ms INTEGER NOT NULL,
                    to_ms INTEGER NOT NULL, stopped INTEGER NOT NULL);
CREATE TABLE holes (first INTEGER, last INTEGER, why TEXT NOT NULL, PRIMARY KEY (first, last)) WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""


class Unusable(Exception):
    """The file is not a history of this version; the message says what it is."""


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection without transactions of its own making; of any thread, one at a time."""
    uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=10)
    db.execute("PRAGMA cache_size = -4096")
    return db


def open_index(path: Path) -> sqlite3.Connection:
    """Open it for writing, made anew if there is none. Raises Unusable, or sqlite3.Error."""
    db = connect(path)
    try:
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            _create(db)
        check(db)
        db.execute("PRAGMA synchronous = NORMAL")  # a power cut may lose the newest; they are read again
        db.execute("PRAGMA wal_autocheckpoint = 1000")
        db.execute(f"PRAGMA journal_size_limit = {16 << 20}")
    except BaseException:
        db.close()
        raise
    return db


def check(db: sqlite3.Connection) -> None:
    """Raise Unusable unless this is a whole index of this version."""
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise Unusable("not a history index")
    if version != SCHEMA_VERSION:
        raise Unusable(f"history index of version {version}, and this Routebook has {SCHEMA_VERSION}")


def set_aside(path: Path) -> Path:
    """Move the file, and what SQLite keeps beside it, out of the way; only the newest of these is kept."""
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
