"""Maps names to small integer ids; each name is stored once."""

import sqlite3
from typing import Final, Literal

from routebook.lenient_json import to_blob

_MAX_CACHED: Final = 100_000  # the cache is cleared beyond this; SQLite holds all names


class NameIds:
    """One table of names. Ids start at 1, in the order of first use."""

    __slots__ = ("_db", "_ids", "_insert", "_select")

    def __init__(self, db: sqlite3.Connection, table: Literal["topics", "brokers", "words"]) -> None:
        self._db = db
        self._ids: dict[str, int] = {}
        self._select = f"SELECT id FROM {table} WHERE name = ?"  # noqa: S608 - one of three constants
        self._insert = f"INSERT INTO {table} (name) VALUES (?)"  # noqa: S608

    def id(self, name: str) -> int:
        """Return the id of a name; a new name gets a new id."""
        found = self._ids.get(name)
        if found is None:
            if len(self._ids) >= _MAX_CACHED:
                self._ids.clear()
            found = self._ids[name] = self._stored(to_blob(name))
        return found

    def _stored(self, blob: bytes) -> int:
        for (number,) in self._db.execute(self._select, (blob,)):
            return int(number)
        return self._db.execute(self._insert, (blob,)).lastrowid or 0
