"""Names as small numbers, each kept once."""

import sqlite3
from typing import Final, Literal

from routebook.lenient_json import to_blob

_MAX_CACHED: Final = 100_000  # beyond it the cache starts anew; SQLite knows them all


class Names:
    """One table of names; ids count from 1 in the order in which names first appear."""

    __slots__ = ("_db", "_ids", "_insert", "_select")

    def __init__(self, db: sqlite3.Connection, table: Literal["topics", "brokers", "words"]) -> None:
        self._db = db
        self._ids: dict[str, int] = {}
        self._select = f"SELECT id FROM {table} WHERE name = ?"  # noqa: S608 - one of three words
        self._insert = f"INSERT INTO {table} (name) VALUES (?)"  # noqa: S608

    def id(self, name: str) -> int:
        """Its number, a new one for a new name."""
        found = self._ids.get(name)
        if found is None:
            if len(self._ids) >= _MAX_CACHED:
                self._ids.clear()
            found = self._ids[name] = self._kept(to_blob(name))
        return found

    def _kept(self, blob: bytes) -> int:
        for (number,) in self._db.execute(self._select, (blob,)):
            return int(number)
        return self._db.execute(self._insert, (blob,)).lastrowid or 0
