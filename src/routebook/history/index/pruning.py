"""Prunes the index after journal retention: deletes old rows, except those that still describe the state."""

import sqlite3
from typing import Final

# :first is the first record that the journal still has. The last row before it describes the state at that point.
_STATEMENTS: Final = """
DELETE FROM marks WHERE seq < :first;

DELETE FROM singles
WHERE seq < (SELECT max(o.seq) FROM ops o WHERE o.broker = singles.broker AND o.op = 0 AND o.seq < :first);

DELETE FROM pieces
WHERE seq < (SELECT max(o.seq) FROM ops o WHERE o.broker = pieces.broker AND o.op = 0 AND o.seq < :first);

DELETE FROM ops
WHERE seq < (SELECT max(o.seq) FROM ops o WHERE o.broker = ops.broker AND o.op = 0 AND o.seq < :first);

DELETE FROM singles
WHERE seq < :first AND EXISTS (
    SELECT 1 FROM singles n
    WHERE n.topic = singles.topic AND n.broker = singles.broker AND n.seq > singles.seq AND n.seq < :first);

DELETE FROM mappings
WHERE seq < :first AND EXISTS (
    SELECT 1 FROM mappings n
    WHERE n.topic = mappings.topic AND n.broker = mappings.broker AND n.seq > mappings.seq AND n.seq < :first);

DELETE FROM mappings WHERE seq < :first AND info IS NULL;

DELETE FROM groups
WHERE seq < :first AND EXISTS (
    SELECT 1 FROM groups n WHERE n.broker = groups.broker AND n.seq > groups.seq AND n.seq < :first);

DELETE FROM groups WHERE seq < :first AND state IS NULL;

DELETE FROM sets
WHERE seq < :first AND EXISTS (
    SELECT 1 FROM sets n WHERE n.broker = sets.broker AND n.seq > sets.seq AND n.seq < :first);

DELETE FROM sets WHERE seq < :first AND state IS NULL;

DELETE FROM elections WHERE seq < :first;

DELETE FROM laid
WHERE NOT EXISTS (
    SELECT 1 FROM pieces p
    WHERE p.bucket = laid.bucket AND p.broker = laid.broker AND p.content = laid.content);

DELETE FROM contents WHERE id NOT IN (SELECT content FROM laid);

DELETE FROM boots WHERE first_seq < (SELECT max(b.first_seq) FROM boots b WHERE b.first_seq <= :first);

DELETE FROM holes WHERE last < :first;
"""


def prune(db: sqlite3.Connection, first_seq: int) -> None:
    """Delete rows within the caller's transaction."""
    for statement in _STATEMENTS.split(";"):
        db.execute(statement, {"first": first_seq})
