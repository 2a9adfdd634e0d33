"""Read a lake without a JVM: PyIceberg plans which files a published build has, DuckDB reads them.

Both take about a second to load: whoever may not need them asks `routebook.lake.read.open`, which loads this module.
"""

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeVar

from routebook.lake.errors import BrokenLake, NoLake, QueryError
from routebook.lake.read.catalog import BUILDS, Catalog, Plan
from routebook.lake.read.duckdb_files import connect, mentioned
from routebook.lake.read.query import Asked, Column
from routebook.lake.tables.registry import description_of
from routebook.times import parse_datetime

T = TypeVar("T")

_AT_ONCE: Final = 4
_MEMORY_MB: Final = 512
_MOST_KEPT: Final = 64
_MAX_ROWS: Final = 10_000
_TIMEOUT_S: Final = 30.0


class Build(NamedTuple):
    """One build that was published, and the snapshot of each table that belongs to it."""

    id: str
    at: datetime
    tables: dict[str, int]
    facts: dict[str, Any]  # what else `meta.builds` tells of it: events, duplicates, …


class TableInfo(NamedTuple):
    """A table as it is published."""

    path: str
    doc: str
    rows: int
    bytes: int
    columns: list[Column]


class Answer(NamedTuple):
    """What a question gave; `truncated` where there was more than `max_rows`."""

    columns: list[Column]
    rows: list[tuple[Any, ...]]
    truncated: bool
    build: str
    took_ms: int

    def objects(self) -> list[dict[str, Any]]:
        """Each row by the names of its columns."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


class Lake:
    """An open lake. Any number of threads may ask; a few questions run at a time, the others wait their turn."""

    def __init__(self, path: Path, catalog: Catalog, *, memory_mb: int) -> None:
        self.path = path
        self._catalog = catalog
        self._memory_mb = memory_mb
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        self._lock = threading.Lock()
        self._builds: tuple[str, list[Build]] | None = None
        self._kept: dict[Hashable, Any] = {}

    @classmethod
    def open(cls, path: str | Path, *, memory_mb: int = _MEMORY_MB) -> Self:
        """Raises NoLake, NewerLake, BrokenLake."""
        folder = Path(path).expanduser().absolute()
        lake = cls(folder, Catalog(folder), memory_mb=memory_mb)
        lake.build()
        return lake

    def close(self) -> None:
        """Nothing is held open between questions; what was planned is forgotten."""
        self._builds = None
        self._kept.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def builds(self) -> list[Build]:
        """All that are published, oldest first. Read again only where there is a new one."""
        location = self._catalog.check_format()
        with self._lock:
            if self._builds is not None and self._builds[0] == location:
                return self._builds[1]
            found = self._read_builds()
            self._builds = location, found
            return found

    def build(self, as_of: str | datetime | None = None) -> Build:
        """The newest one, or what was published at a time, or the one of that id."""
        builds = self.builds()
        if not builds:
            raise NoLake(str(self.path), why="no build has finished yet")
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
                f"there was no build at {moment:%Y-%m-%dT%H:%M:%SZ}: the first is of {builds[0].at:%Y-%m-%dT%H:%M:%SZ}",
                sql="",
            )
        return earlier[-1]

    def tables(self, as_of: str | datetime | None = None) -> list[TableInfo]:
        """Every table of a build, with what is in it."""
        return [
            TableInfo(plan.path, description_of(plan.path), plan.rows, plan.bytes, _columns(plan))
            for plan in self._plans(self.build(as_of), None)
        ]

    def columns(self, path: str, *, build: Build) -> list[Column]:
        """Those of one table; none where the build has no such table."""
        return [column for plan in self._plans(build, path) if plan.path == path for column in _columns(plan)]

    def query(
        self,
        sql: str,
        *,
        as_of: str | datetime | None = None,
        max_rows: int = _MAX_ROWS,
        timeout_s: float | None = _TIMEOUT_S,
    ) -> Answer:
        """Rows as JSON can hold them. Raises QueryError, which says where in the SQL it went wrong."""
        began = time.monotonic()
        build = self.build(as_of)
        rows: list[tuple[Any, ...]] = []
        with self.asked(sql, build=build, timeout_s=timeout_s) as asked:
            for batch in asked.batches():
                rows += batch
                if len(rows) > max_rows:
                    break
        took_ms = round((time.monotonic() - began) * 1000)
        return Answer(asked.columns, rows[:max_rows], len(rows) > max_rows, build.id, took_ms)

    @contextmanager
    def asked(self, sql: str, *, build: Build, timeout_s: float | None = None) -> Iterator[Asked]:
        """The same without a bound: rows as they come, for whoever writes them away."""
        with self._turns:
            asked = Asked(connect(self._plans(build, sql), memory_mb=self._memory_mb), sql, timeout_s=timeout_s)
            try:
                yield asked
            finally:
                asked.close()

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made from the same build for the same question, or made now."""
        with self._lock:
            found: T | None = self._kept.get(key)
        if found is None:
            found = make()
            with self._lock:
                if len(self._kept) >= _MOST_KEPT:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[key] = found
        return found

    def _plans(self, build: Build, sql: str | None) -> list[Plan]:
        published: dict[str, int | None] = {**build.tables, BUILDS: None}
        wanted = sorted(published) if sql is None else mentioned(sql, published)
        plans = [self._catalog.plan(path, published[path]) for path in wanted]
        return [plan for plan in plans if plan is not None]

    def _read_builds(self) -> list[Build]:
        plan = self._catalog.plan(BUILDS)
        if plan is None:
            return []
        sql = "SELECT * FROM meta.builds ORDER BY number"
        try:
            asked = Asked(connect([plan], memory_mb=self._memory_mb), sql, timeout_s=None)
            try:
                names = [column.name for column in asked.columns]
                rows = [dict(zip(names, row, strict=True)) for batch in asked.batches() for row in batch]
            finally:
                asked.close()
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
