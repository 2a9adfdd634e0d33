"""Access to the lake's Iceberg tables through Spark: create, read a snapshot, append, replace rows, roll back."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow has no types
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.pandas.types import to_arrow_schema

from routebook.lake.build.schema import empty_frame, schema
from routebook.lake.errors import CommitConflict
from routebook.lake.layout import CATALOG
from routebook.lake.spark.jvm import (
    JavaError,
    create_iceberg_table,
    iceberg_table,
    iceberg_table_exists,
    java_classes,
)
from routebook.lake.tables.bronze import EVENTS
from routebook.lake.tables.ddl import columns_of
from routebook.lake.tables.table import Layer, Table

_DAYS: Final = "days("
# Partitioned by the first letter of the kind as well: most rows are rollups, and most steps read none of them.
_TRUNCATED: Final = {EVENTS.path: "kind"}
# Writers keep one file per day open instead of sorting by day first: bronze rows arrive in time order.
_UNSORTED: Final = {"write.distribution-mode": "none", "write.spark.fanout.enabled": "true"}
_PROPERTIES: Final = {
    "format-version": "2",
    "write.parquet.compression-codec": "zstd",
    "write.delete.mode": "copy-on-write",
    "write.update.mode": "copy-on-write",
    "write.merge.mode": "copy-on-write",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "commit.retry.num-retries": "10",
}
_CONFLICTS: Final = frozenset(
    f"org.apache.iceberg.exceptions.{name}" for name in ("ValidationException", "CommitFailedException")
)


class Store:
    """All tables of one catalog."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._namespaces: set[Layer] = set()  # known to exist

    # -- definition --------------------------------------------------------------------------------------------------

    def name(self, table: Table) -> str:
        """The qualified name for Spark SQL."""
        return f"{CATALOG}.{table.layer}.`{table.name}`"

    def create(self, table: Table, **properties: str) -> None:
        """Create a table with an empty first snapshot, so that a roll-back target always exists."""
        if table.layer not in self._namespaces:
            self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{table.layer}")
            self._namespaces.add(table.layer)
        wanted = _PROPERTIES | (_UNSORTED if table.layer is Layer.BRONZE else {}) | properties
        create_iceberg_table(
            self.spark,
            CATALOG,
            table.path,
            schema(table),
            partition=table.partition and _column_of(table.partition),
            by_day=(table.partition or "").startswith(_DAYS),
            truncated=_TRUNCATED.get(table.path),
            properties=wanted,
        )

    def exists(self, table: Table) -> bool:
        return iceberg_table_exists(self.spark, CATALOG, table.path)

    def drop(self, table: Table) -> None:
        """Delete the table, if it exists, and its files."""
        if self.exists(table):
            self.spark.sql(f"DROP TABLE {self.name(table)} PURGE")

    def has_declared_columns(self, table: Table) -> bool:
        actual = self.spark.table(self.name(table)).schema
        return [(field.name, field.dataType) for field in actual] == [
            (field.name, field.dataType) for field in schema(table)
        ]

    def has_declared_partitions(self, table: Table) -> bool:
        actual = [str(field.name()) for field in self._iceberg(table).spec().fields()]
        return table.partition is None or actual[:1] == [_field_name(table.partition)]

    def add_columns(self, table: Table) -> None:
        """Add declared columns that the table of an earlier release lacks."""
        actual = {field.name for field in self.spark.table(self.name(table)).schema}
        for name, kind in columns_of(table.columns):
            if name not in actual:
                self.spark.sql(f"ALTER TABLE {self.name(table)} ADD COLUMN `{name}` {kind}")

    def property(self, table: Table, key: str) -> str | None:
        value = self._iceberg(table).properties().get(key)
        return None if value is None else str(value)

    def uuid(self, table: Table) -> str:
        """Identifies this table among all tables that ever had its name."""
        return str(self._iceberg(table).uuid().toString())

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def current(self, table: Table) -> int:
        """The id of the current snapshot."""
        return int(self._iceberg(table).currentSnapshot().snapshotId())

    def count(self, table: Table) -> int:
        """The number of rows, from the metadata of the current snapshot."""
        return int(self._iceberg(table).currentSnapshot().summary().get("total-records") or 0)

    def count_since(self, table: Table, day: date) -> int:
        """The number of rows in the partitions from this day on, from the metadata; the table has a column `day`."""
        partitions = self.spark.table(f"{self.name(table)}.partitions").where(fn.col("partition.day") >= fn.lit(day))
        return partitions.agg(fn.sum("record_count")).collect()[0][0] or 0

    def roll_back(self, table: Table, snapshot: int) -> None:
        """Make an earlier snapshot the current one."""
        self._iceberg(table).manageSnapshots().setCurrentSnapshot(snapshot).commit()

    def _iceberg(self, table: Table) -> Any:
        return iceberg_table(self.spark, f"{CATALOG}.{table.path}")

    def at(self, table: Table, snapshot: int) -> DataFrame:
        """The rows of a snapshot."""
        return self.spark.read.option("versionAsOf", snapshot).table(self.name(table))

    def added(self, table: Table, *, since: int, until: int) -> DataFrame:
        """Rows appended between two snapshots."""
        if since == until:
            return self.empty(table)
        reader = self.spark.read.option("start-snapshot-id", since).option("end-snapshot-id", until)
        return reader.format("iceberg").load(f"{CATALOG}.{table.path}")

    def empty(self, table: Table) -> DataFrame:
        return empty_frame(self.spark, table)

    def rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
        """A frame of a few rows, created through Arrow: other ways start Python workers."""
        if not rows:
            return self.empty(table)
        given = pa.Table.from_pylist(list(rows), to_arrow_schema(schema(table)))
        return self.spark.createDataFrame(given).coalesce(1)

    # -- writing -----------------------------------------------------------------------------------------------------

    def append(self, table: Table, rows: DataFrame) -> None:
        """Append rows in one commit."""
        rows.writeTo(self.name(table)).append()

    def replace(self, table: Table, rows: DataFrame, *, stale: Column | None, seen: int) -> None:
        """Replace the rows for which `stale` is true (None: all rows) by `rows`, in one commit.

        Rewrites whole partitions, but only those that contain stale or new rows. `seen` is the snapshot that `stale`
        refers to. Raises CommitConflict if another process changed these partitions since.
        """
        if stale is None:
            self.overwrite(table, rows, where=fn.lit(True), seen=seen)
            return
        old = self.at(table, seen)
        day = _day_of(table)
        if day is None:
            self.overwrite(table, old.where(~_is_true(stale)).unionByName(rows), where=fn.lit(True), seen=seen)
            return
        rows = rows.persist()
        try:
            touched = old.where(stale).select(day.alias("day")).union(rows.select(day.alias("day"))).distinct()
            days = [row.day for row in touched.collect()]
            if days:
                within = _within(table, days)
                self.overwrite(table, old.where(within & ~_is_true(stale)).unionByName(rows), where=within, seen=seen)
        finally:
            rows.unpersist()

    def overwrite(self, table: Table, rows: DataFrame, *, where: Column, seen: int) -> None:
        """Replace the rows that match `where`. Raises CommitConflict if such rows were committed since `seen`."""
        writer = rows.writeTo(self.name(table)).option("isolation-level", "serializable")
        try:
            writer.option("validate-from-snapshot-id", str(seen)).overwrite(where)
        except (PySparkException, JavaError) as error:
            if _CONFLICTS.isdisjoint(java_classes(error)):
                raise
            raise CommitConflict(f"{table.path}: another process changed this table; run the build again") from error


def _is_true(condition: Column) -> Column:
    return fn.coalesce(condition, fn.lit(False))


def _column_of(partition: str) -> str:
    """The source column of a partition transform."""
    return partition.removeprefix(_DAYS).removesuffix(")")


def _field_name(partition: str) -> str:
    """Iceberg's name for the partition field."""
    return f"{_column_of(partition)}_day" if partition.startswith(_DAYS) else partition


def _day_of(table: Table) -> Column | None:
    """The day of the partition that contains a row."""
    if table.partition is None:
        return None
    column = fn.col(_column_of(table.partition))
    return fn.to_date(column) if table.partition.startswith(_DAYS) else column


def _within(table: Table, days: Sequence[date | None]) -> Column:
    """Rows in the partitions of these days, as a predicate that Iceberg resolves to whole partitions."""
    partition = table.partition or ""
    by_time = partition.startswith(_DAYS)
    column = fn.col(_column_of(partition))
    within: Column | None = column.isNull() if None in days else None
    for first, last in _ranges(sorted(day for day in days if day is not None)):
        begin, end = fn.lit(first), fn.lit(last + timedelta(days=1))
        if by_time:
            begin, end = begin.cast("timestamp"), end.cast("timestamp")
        in_range = (column >= begin) & (column < end)
        within = in_range if within is None else within | in_range
    return fn.lit(False) if within is None else within


def _ranges(days: Sequence[date]) -> list[tuple[date, date]]:
    """Consecutive days merged into ranges."""
    result: list[tuple[date, date]] = []
    for day in days:
        if result and result[-1][1] + timedelta(days=1) == day:
            result[-1] = (result[-1][0], day)
        else:
            result.append((day, day))
    return result
