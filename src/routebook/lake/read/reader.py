"""Reads a lake without a JVM: PyIceberg finds the files of a published build, DuckDB reads them.

Importing both takes about a second; `routebook.lake.read.open` imports this module on demand.
"""

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeVar

from duckdb import DuckDBPyConnection

from routebook.lake.config import lake_config
from routebook.lake.errors import BrokenLake, NoLake, QueryError
from routebook.lake.read.catalog import Catalog, Plan
from routebook.lake.read.duckdb_files import connect, mentioned
from routebook.lake.read.query import Column, Cursor
from routebook.lake.tables.meta import BUILDS
from routebook.lake.tables.registry import description_of
from routebook.times import parse_datetime

T = TypeVar("T")

_MAX_QUERIES: Final = 4
_DEFAULT_MEMORY_MB: Final = 512
_MAX_CACHED: Final = 64
_DEFAULT_MAX_ROWS: Final = 10_000
_DEFAULT_TIMEOUT_S: Final = 30.0


class Build(NamedTuple):
    """A published build, with its snapshot of each table."""

    id: str
    at: datetime
    tables: dict[str, int]
    facts: dict[str, Any]  # the other columns of `meta.builds`: events, duplicates, …


class TableInfo(NamedTuple):
    """A table of a published build."""

    path: str
    doc: str
    rows: int
    bytes: int
    columns: list[Column]


class QueryResult(NamedTuple):
    """The result of a query; `truncated` if it had more than `max_rows` rows."""

    columns: list[Column]
    rows: list[tuple[Any, ...]]
    truncated: bool
    build: str
    took_ms: int

    def objects(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


class Lake:
    """An open lake. Thread-safe; at most _MAX_QUERIES queries run at a time, others wait."""

    def __init__(self, path: str, catalog: Catalog, *, memory_mb: int) -> None:
        self.path = path
        self._catalog = catalog
        self._memory_mb = memory_mb
        self._slots = threading.BoundedSemaphore(_MAX_QUERIES)
        self._lock = threading.Lock()
        self._builds: tuple[str, list[Build]] | None = None
        self._cache: dict[Hashable, Any] = {}

    @classmethod
    def open(cls, path: str | Path, *, memory_mb: int = _DEFAULT_MEMORY_MB) -> Self:
        """Open a folder, or the lake of a lake.toml. Raises NoLake, NewerLake, BrokenLake, UsageError."""
        config = lake_config(path)
        lake = cls(config.given, Catalog(config), memory_mb=memory_mb)
        lake.build()
        return lake

    def close(self) -> None:
        """Clear the caches. No file is open between queries."""
        self._builds = None
        self._cache.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def builds(self) -> list[Build]:
        """All published builds, oldest first; cached until a new one is published."""
        location = self._catalog.check_format()
        with self._lock:
            if self._builds is not None and self._builds[0] == location:
                return self._builds[1]
            found = self._read_builds()
            self._builds = location, found
            return found

    def build(self, as_of: str | datetime | None = None) -> Build:
        """The newest build, the last one published at a time, or the one with an id (or a unique prefix of it)."""
        builds = self.builds()
        if not builds:
            raise NoLake(self.path, why="no build has finished yet")
        if as_of is None:
            return builds[-1]
        if isinstance(as_of, str):
            named = [build for build in builds if build.id.startswith(as_of)]
            if exact := [build for build in named if build.id == as_of] or (named if len(named) == 1 else []):
                return exact[0]
            as_of = _moment(as_of, builds)
        moment = as_of if as_of.tzinfo is not None else as_of.replace(tzinfo=UTC)
        earlier = [build for build in builds if build.at <= moment]
        if not earlier:
            raise QueryError(
                f"no build at {moment:%Y-%m-%dT%H:%M:%SZ}: the first is of {builds[0].at:%Y-%m-%dT%H:%M:%SZ}",
                sql="",
            )
        return earlier[-1]

    def tables(self, as_of: str | datetime | None = None) -> list[TableInfo]:
        """All tables of a build."""
        return [
            TableInfo(plan.path, description_of(plan.path), plan.rows, plan.bytes, _columns(plan))
            for plan in self._plans(self.build(as_of), None)
        ]

    def columns(self, path: str, *, build: Build) -> list[Column]:
        """The columns of one table; none if the build lacks it."""
        return [column for plan in self._plans(build, path) if plan.path == path for column in _columns(plan)]

    def query(
        self,
        sql: str,
        *,
        as_of: str | datetime | None = None,
        max_rows: int = _DEFAULT_MAX_ROWS,
        timeout_s: float | None = _DEFAULT_TIMEOUT_S,
    ) -> QueryResult:
        """Run a query; the rows have JSON-compatible values. Raises QueryError with the position of the error."""
        began = time.monotonic()
        build = self.build(as_of)
        rows: list[tuple[Any, ...]] = []
        with self.cursor(sql, build=build, timeout_s=timeout_s) as cursor:
            for batch in cursor.batches():
                rows += batch
                if len(rows) > max_rows:
                    break
        took_ms = round((time.monotonic() - began) * 1000)
        return QueryResult(cursor.columns, rows[:max_rows], len(rows) > max_rows, build.id, took_ms)

    @contextmanager
    def cursor(self, sql: str, *, build: Build, timeout_s: float | None = None) -> Iterator[Cursor]:
        """Run a query without a limit on its rows, which are fetched in batches."""
        with self._slots:
            cursor = Cursor(self._connect(self._plans(build, sql)), sql, timeout_s=timeout_s)
            try:
                yield cursor
            finally:
                cursor.close()

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """The cached result for this key, computed by `make` if absent. The key must include the build."""
        with self._lock:
            found: T | None = self._cache.get(key)
        if found is None:
            found = make()
            with self._lock:
                if len(self._cache) >= _MAX_CACHED:
                    self._cache.pop(next(iter(self._cache)))
                self._cache[key] = found
        return found

    def _plans(self, build: Build, sql: str | None) -> list[Plan]:
        published: dict[str, int | None] = {**build.tables, BUILDS.path: None}
        wanted = sorted(published) if sql is None else mentioned(sql, published)
        plans = [self._catalog.plan(path, published[path]) for path in wanted]
        return [plan for plan in plans if plan is not None]

    def _connect(self, plans: list[Plan]) -> DuckDBPyConnection:
        return connect(plans, self._catalog.stores, memory_mb=self._memory_mb)

    def _read_builds(self) -> list[Build]:
        plan = self._catalog.plan(BUILDS.path)
        if plan is None:
            return []
        sql = "SELECT * FROM meta.builds ORDER BY number"
        try:
            cursor = Cursor(self._connect([plan]), sql, timeout_s=None)
            try:
                names = [column.name for column in cursor.columns]
                rows = [dict(zip(names, row, strict=True)) for batch in cursor.batches() for row in batch]
            finally:
                cursor.close()
        except QueryError as error:
            raise BrokenLake(f"{self.path}: meta.builds: {error}") from None
        return [
            Build(
                id=row.pop("build_id"),
                at=datetime.fromisoformat(row.pop("at")),
                tables=row.pop("tables") or {},
                facts=row,
            )
            for row in rows
        ]


def _columns(plan: Plan) -> list[Column]:
    return [Column(field.name, "TIMESTAMP" if field.type == "TIMESTAMPTZ" else field.type) for field in plan.fields]


def _moment(text: str, builds: list[Build]) -> datetime:
    try:
        return parse_datetime(text)
    except ValueError:
        raise QueryError(
            f"as of {text}: neither a time (2026-01-01T03:12:00Z, or milliseconds) nor a build; the newest is "
            f"{builds[-1].id}",
            sql="",
        ) from None
