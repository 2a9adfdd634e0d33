"""The tables of a lake and the files of each table at a snapshot. Reads no rows."""

import threading
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import StaticTable

from routebook.lake.config import LakeConfig
from routebook.lake.errors import BrokenLake, NewerLake, NoLake
from routebook.lake.layout import CATALOG, FORMAT, FORMAT_PROPERTY, is_supported_format
from routebook.lake.read.duckdb_types import type_of
from routebook.lake.read.object_store import ObjectFileIO, ObjectStores
from routebook.lake.read.table_locations import table_locations
from routebook.lake.tables.meta import BUILDS

_LOCAL_IO: Final = {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}  # the default imports pyarrow and pandas
_MAX_CACHED: Final = 256


class Field(NamedTuple):
    """A column, with the permanent field id that Iceberg assigns to it."""

    number: int
    name: str
    type: str  # the DuckDB type


class Plan(NamedTuple):
    """The files of a table at one snapshot."""

    path: str
    snapshot: int | None  # None: the table was never written
    fields: tuple[Field, ...]
    files: tuple[str, ...]  # local paths or s3:// URLs
    rows: int
    bytes: int


class Catalog:
    """The tables of one lake, with a cache of plans. Thread-safe."""

    def __init__(self, config: LakeConfig) -> None:
        self._lake = config.given
        self._locations = table_locations(config)
        self.stores = ObjectStores(config)
        self._lock = threading.Lock()
        self._tables: dict[str, StaticTable] = {}  # by metadata location
        self._plans: dict[tuple[str, int | None], Plan] = {}

    def check_format(self) -> str:
        """The metadata location of `meta.builds`. Raises NoLake without a build, NewerLake for a later format."""
        location = self._locations.location(BUILDS.path)
        if location is None:
            raise NoLake(self._lake, why="no build has finished yet")
        with self._lock:
            written = self._open(BUILDS.path, location).properties.get(FORMAT_PROPERTY, "1")
        if not is_supported_format(written):
            raise NewerLake(
                f"{self._lake}: this lake has format {written}, and this release reads formats up to {FORMAT}; "
                "upgrade to the release that wrote it, or a later one"
            )
        return location

    def plan(self, path: str, snapshot: int | None = None) -> Plan | None:
        """The files of a table at a snapshot (None: the current one); None if the table does not exist."""
        with self._lock:
            if snapshot is not None and (cached := self._plans.get((path, snapshot))) is not None:
                return cached
        location = self._locations.location(path)
        if location is None:
            return None
        with self._lock:
            table = self._open(path, location)
            if snapshot is None:
                current = table.current_snapshot()
                snapshot = None if current is None else current.snapshot_id
            plan = _plan(path, table, snapshot)
            if len(self._plans) >= _MAX_CACHED:
                self._plans.clear()
            self._plans[path, snapshot] = plan
            return plan

    def _open(self, path: str, location: str) -> StaticTable:
        found = self._tables.get(location)
        if found is None:
            try:
                found = self._load(location)
            except (OSError, ValueError) as error:
                raise BrokenLake(
                    f"{path}: {_one_line(error)}; tables store full file paths: "
                    f"check whether {self._lake} was moved or files were removed"
                ) from None
            if len(self._tables) >= _MAX_CACHED:
                self._tables.clear()
            self._tables[location] = found
        return found

    def _load(self, location: str) -> StaticTable:
        if not _file(location).startswith("s3://"):
            return StaticTable.from_metadata(location, _LOCAL_IO)
        files = ObjectFileIO(self.stores)
        metadata = FromInputFile.table_metadata(files.new_input(location))
        return StaticTable((CATALOG,), metadata, location, files, NoopCatalog(CATALOG))


def _plan(path: str, table: StaticTable, snapshot: int | None) -> Plan:
    if snapshot is None:
        return Plan(path, None, _fields(table, None), (), rows=0, bytes=0)
    found = table.snapshot_by_id(snapshot)
    if found is None:
        raise BrokenLake(f"{path}: snapshot {snapshot} was removed by `lake vacuum`; use a later time")
    try:
        scan = table.scan(snapshot_id=snapshot)
        tasks = list(scan.plan_files())
        if any(task.delete_files for task in tasks):  # the lake writes none
            raise BrokenLake(f"{path}: another program deleted rows with delete files; run `routebook lake vacuum`")
        return Plan(
            path,
            snapshot,
            _fields(table, snapshot),
            tuple(_file(task.file.file_path) for task in tasks),
            rows=sum(task.file.record_count for task in tasks),
            bytes=sum(task.file.file_size_in_bytes for task in tasks),
        )
    except (OSError, ValueError) as error:
        raise BrokenLake(f"{path}: cannot list its files: {_one_line(error)}") from None


def _fields(table: StaticTable, snapshot: int | None) -> tuple[Field, ...]:
    schema = table.schema() if snapshot is None else table.scan(snapshot_id=snapshot).projection()
    return tuple(Field(field.field_id, field.name, type_of(field.field_type)) for field in schema.fields)


def _file(location: str) -> str:
    """A local path or an s3:// URL. Hadoop writes `file:/a`, PyIceberg `file:///a`; escaping differs from URIs."""
    scheme = urlsplit(location).scheme
    if scheme in {"s3a", "s3n"}:
        return f"s3{location.removeprefix(scheme)}"
    if scheme != "file":
        return location
    plain = location.removeprefix("file://") if location.startswith("file://") else location.removeprefix("file:")
    return plain if Path(plain).exists() else unquote(plain)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
