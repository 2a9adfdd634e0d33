"""Lakes written with PyIceberg, without Spark: declared tables with a few rows, published like a build."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
from pyiceberg.catalog.sql import SqlCatalog

from routebook.lake.tables.meta import BUILDS
from routebook.lake.tables.registry import TABLES
from tests.support.ddl import arrow_schema

Rows = Sequence[Mapping[str, Any]]


class IcebergLake:
    """A lake that a test writes."""

    def __init__(self, path: Path, *, form: str = "1") -> None:
        self.path = path
        (path / "warehouse").mkdir(parents=True)
        self.catalog = SqlCatalog("routebook", uri=f"sqlite:///{path}/catalog.db", warehouse=f"file://{path}/warehouse")
        for namespace in ("bronze", "silver", "gold", "meta"):
            self.catalog.create_namespace(namespace)
        self.catalog.create_table(
            "meta.builds", arrow_schema(BUILDS.columns), properties={"routebook.lake-format": form}
        )
        self._published: dict[str, int] = {}
        self._builds = 0

    def write(self, table: str, rows: Rows, *, columns: str | None = None) -> None:
        """Replace the rows of a table. Omitted columns are null."""
        ddl = TABLES[table].columns if columns is None else columns
        schema = arrow_schema(ddl)
        if not self.catalog.table_exists(table):
            self.catalog.create_table(table, schema)
        unknown = {name for row in rows for name in row} - set(schema.names)
        assert not unknown, f"{table} has no {unknown}"
        full = [{name: row.get(name) for name in schema.names} for row in rows]
        opened = self.catalog.load_table(table)
        made = pa.Table.from_pylist(full, schema=schema)
        if opened.current_snapshot() is None:
            opened.append(made)
        else:
            opened.overwrite(made)
        snapshot = opened.current_snapshot()
        assert snapshot is not None
        self._published[table] = snapshot.snapshot_id

    def publish(self, *, at: datetime | None = None, build_id: str | None = None, events: int = 0) -> str:
        """Publish the current snapshots of all tables."""
        self._builds += 1
        row = {
            "number": self._builds,
            "build_id": build_id or uuid.uuid4().hex,
            "at": at or datetime.now(UTC),
            "tables": list(self._published.items()),
            "events": events,
        }
        schema = arrow_schema(BUILDS.columns)
        full = {name: row.get(name) for name in schema.names}
        self.catalog.load_table("meta.builds").append(pa.Table.from_pylist([full], schema=schema))
        return str(row["build_id"])
