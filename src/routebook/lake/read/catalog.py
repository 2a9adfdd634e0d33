"""What a lake has published: its builds, and each table's files at the snapshot a build names. Reads no rows.

The catalog is SQLite as Iceberg's JDBC catalog writes it. It is opened read-only and asked directly: PyIceberg's own
catalog brings SQLAlchemy, which takes as long to load as everything else together.
"""

import sqlite3
import threading
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from pyiceberg.table import StaticTable

from routebook.lake.errors import BrokenLake, NewerLake, NoLake
from routebook.lake.read.duckdb_types import type_of

CATALOG_NAME: Final = "routebook"
CATALOG_FILE: Final = "catalog.db"
BUILDS: Final = "meta.builds"
FORMAT: Final = 1  # the newest this release reads
FORMAT_PROPERTY: Final = "routebook.lake-format"
_PLAIN_FILES: Final = {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}  # the usual one loads pyarrow and pandas
_BUSY_S: Final = 10.0
_MOST_PLANS: Final = 256


class Field(NamedTuple):
    """A column, by the number that Iceberg gives it for life."""

    number: int
    name: str
    type: str  # as DuckDB spells it


class Plan(NamedTuple):
    """A table at one snapshot."""

    path: str
    snapshot: int | None  # None: nothing was ever written to it
    fields: tuple[Field, ...]
    files: tuple[str, ...]  # local paths; empty where `arrow` must be asked
    rows: int
    bytes: int
    arrow: Any = None  # a pyarrow.Table with its rows, where files alone do not tell them: deletes, or another store


class Catalog:
    """The tables of one lake. Any thread may ask; what was planned once is kept."""

    def __init__(self, lake: Path) -> None:
        self._lake = lake
        self._file = lake / CATALOG_FILE
        if not self._file.is_file():
            raise NoLake(str(lake))
        self._lock = threading.Lock()
        self._tables: dict[str, StaticTable] = {}  # by where their metadata is
        self._plans: dict[tuple[str, int | None], Plan] = {}

    def locations(self) -> dict[str, str]:
        """Where the newest metadata of each table is: `gold.broker_sessions` → a path."""
        try:
            connection = sqlite3.connect(f"file:{quote(str(self._file))}?mode=ro", uri=True, timeout=_BUSY_S)
            try:
                rows = connection.execute(
                    "SELECT table_namespace, table_name, metadata_location FROM iceberg_tables WHERE catalog_name = ?",
                    (CATALOG_NAME,),
                ).fetchall()
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise BrokenLake(f"{self._file}: the lake's catalog cannot be read: {error}") from None
        return {f"{namespace}.{name}": location for namespace, name, location in rows if location}

    def check_format(self) -> str:
        """Where the metadata of `meta.builds` is; raises where there is no build, or a later release wrote it."""
        location = self.locations().get(BUILDS)
        if location is None:
            raise NoLake(str(self._lake), why="no build has finished yet")
        with self._lock:
            written = self._open(BUILDS, location).properties.get(FORMAT_PROPERTY, "1")
        if not (written.isdigit() and int(written) <= FORMAT):
            raise NewerLake(
                f"{self._lake}: this lake has format {written}, and this release reads up to {FORMAT}; "
                "read it with the release that wrote it, or a later one"
            )
        return location

    def plan(self, path: str, snapshot: int | None = None) -> Plan | None:
        """A table's files at a snapshot (None: the newest); None where there is no such table."""
        location = self.locations().get(path)
        if location is None:
            return None
        with self._lock:
            if snapshot is not None and (kept := self._plans.get((path, snapshot))) is not None:
                return kept
            table = self._open(path, location)
            if snapshot is None:
                current = table.current_snapshot()
                snapshot = None if current is None else current.snapshot_id
            plan = _plan(path, table, snapshot)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[path, snapshot] = plan
            return plan

    def _open(self, path: str, location: str) -> StaticTable:
        found = self._tables.get(location)
        if found is None:
            try:
                found = StaticTable.from_metadata(location, {} if _local(location) is None else _PLAIN_FILES)
            except (OSError, ValueError) as error:
                raise BrokenLake(
                    f"{path}: {_one_line(error)}; tables name their files by full path: "
                    f"was {self._lake} moved, or part of it removed?"
                ) from None
            if len(self._tables) >= _MOST_PLANS:
                self._tables.clear()
            self._tables[location] = found
        return found


def _plan(path: str, table: StaticTable, snapshot: int | None) -> Plan:
    if snapshot is None:
        return Plan(path, None, _fields(table, None), (), rows=0, bytes=0)
    found = table.snapshot_by_id(snapshot)
    if found is None:
        raise BrokenLake(
            f"{path}: snapshot {snapshot} is gone: `lake vacuum` removed what was older; ask for a later time"
        )
    try:
        scan = table.scan(snapshot_id=snapshot)
        tasks = list(scan.plan_files())
        local = [_local(task.file.file_path) for task in tasks]
        whole = all(local) and not any(task.delete_files for task in tasks)
        return Plan(
            path,
            snapshot,
            _fields(table, snapshot),
            tuple(file for file in local if file) if whole else (),
            rows=sum(task.file.record_count for task in tasks),
            bytes=sum(task.file.file_size_in_bytes for task in tasks),
            arrow=None if whole else scan.to_arrow(),
        )
    except (OSError, ValueError) as error:
        raise BrokenLake(f"{path}: its files cannot be listed: {_one_line(error)}") from None


def _fields(table: StaticTable, snapshot: int | None) -> tuple[Field, ...]:
    schema = table.schema() if snapshot is None else table.scan(snapshot_id=snapshot).projection()
    return tuple(Field(field.field_id, field.name, type_of(field.field_type)) for field in schema.fields)


def _local(location: str) -> str | None:
    """A path of this machine, or None. Hadoop writes `file:/a`, PyIceberg `file:///a`, both escape as URIs do not."""
    parts = urlsplit(location)
    if parts.scheme == "":
        return location
    if parts.scheme != "file":
        return None
    plain = location.removeprefix("file://") if location.startswith("file://") else location.removeprefix("file:")
    return plain if Path(plain).exists() else unquote(plain)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
