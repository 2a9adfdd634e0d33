"""Runs one SQL query: read-only, with a time limit, and with error positions."""

import datetime
import math
import re
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple

import duckdb
from duckdb import DuckDBPyConnection

from routebook.lake.errors import BrokenLake, QueryError, QueryTimeout
from routebook.lake.read.duckdb_files import error_details

_BATCH: Final = 2048
_READ_ONLY: Final = frozenset({"SELECT", "EXPLAIN"})  # DuckDB reports DESCRIBE and SUMMARIZE as SELECT
_NOT_A_COLUMN: Final = re.compile(rb"\s*(\(|time\s+zone\b)", re.IGNORECASE)  # `AT (VERSION => 1)`, `AT TIME ZONE 'UTC'`
_WORD: Final = re.compile(rb"\w+")


class Column(NamedTuple):
    """A column of a result."""

    name: str
    type: str


class Cursor:
    """A running query: the columns are known at once, the rows are fetched in batches."""

    def __init__(self, connection: DuckDBPyConnection, sql: str, *, timeout_s: float | None) -> None:
        self._connection = connection
        self._sql = sql
        self._timeout_s = timeout_s
        self._timed_out = False
        self._timer: threading.Timer | None = None
        if timeout_s is not None:
            self._timer = threading.Timer(timeout_s, self._interrupt)
            self._timer.daemon = True
            self._timer.start()
        try:
            self.columns = self._run()
        except BaseException:  # cleanup only: re-raised
            self.close()
            raise

    def batches(self) -> Iterator[list[tuple[Any, ...]]]:
        """Rows with JSON-compatible values."""
        try:
            while rows := self._connection.fetchmany(_BATCH):
                yield [tuple(map(json_value, row)) for row in rows]
        except duckdb.Error as error:
            raise self._error(error, self._sql) from None

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._connection.close()

    def _interrupt(self) -> None:
        self._timed_out = True
        self._connection.interrupt()

    def _run(self) -> list[Column]:
        sql = self._sql
        try:
            statements = self._connection.extract_statements(sql)
        except duckdb.ParserException as error:
            sql = quote_at(sql)
            if sql == self._sql:
                raise self._error(error, sql) from None
            try:
                statements = self._connection.extract_statements(sql)
            except duckdb.ParserException as again:
                raise self._error(again, sql) from None
        if len(statements) != 1:
            raise QueryError("one statement at a time" if statements else "no SQL given", sql=self._sql)
        kind = statements[0].type.name
        if kind not in _READ_ONLY or re.match(r"\s*explain\s+analy[sz]e\b", sql, re.IGNORECASE):
            raise QueryError(
                f"{kind} is not allowed: the lake is read-only; use SELECT, WITH, DESCRIBE or EXPLAIN", sql=sql
            )
        try:
            self._connection.execute(statements[0])
        except duckdb.Error as error:
            raise self._error(error, sql) from None
        return [Column(name, str(kind)) for name, kind, *_ in self._connection.description or ()]

    def _error(self, error: Exception, sql: str) -> QueryError | BrokenLake:
        """The error with its position in the SQL as given."""
        if self._timed_out:
            return QueryTimeout(f"the query took longer than {self._timeout_s:g} s", sql=self._sql)
        message, offset = error_details(error)
        position = None if offset is None else len(sql.encode()[:offset].decode(errors="ignore")) + 1
        if position is not None and sql != self._sql:
            position -= _added_before(self._sql, sql, position)
        if type(error).__name__ == "IOException":
            return BrokenLake(f"cannot read a file of the lake: {message}")
        if type(error).__name__ == "OutOfMemoryException":
            message = "the query needs more memory than allowed; select fewer rows or columns"
        return QueryError(message, sql=self._sql, position=position)


def quote_at(sql: str) -> str:
    """The SQL with `at` quoted where it is a column: it is a column of the lake and a keyword of DuckDB."""
    given = sql.encode()  # DuckDB counts bytes
    pieces: list[bytes] = []
    done = 0
    for offset, kind in duckdb.tokenize(sql):
        word = _WORD.match(given, offset)
        if kind != duckdb.token_type.keyword or word is None or word[0].lower() != b"at":
            continue
        if not _NOT_A_COLUMN.match(given, word.end()):
            pieces += (given[done:offset], b'"' + word[0] + b'"')
            done = word.end()
    return b"".join((*pieces, given[done:])).decode()


def json_value(value: Any) -> Any:
    """A JSON-compatible value; times are ISO 8601 in UTC with milliseconds."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return value.isoformat(timespec="milliseconds") + "Z"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {str(json_value(key)): json_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(one) for one in value]
    return str(value)


def _added_before(given: str, quoted: str, position: int) -> int:
    """The number of characters that quoting inserted before a position."""
    added = at = 0
    for character in quoted[: position - 1]:
        if at < len(given) and given[at] == character:
            at += 1
        else:
            added += 1
    return added
