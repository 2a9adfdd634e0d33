"""The lake's tables as Iceberg keeps them: made, read at a snapshot, added to, replaced in part, put back."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema

from routebook.lake.build.refresh import nothing, schema
from routebook.lake.spark.jvm import iceberg_table
from routebook.lake.spark.session import CATALOG
from routebook.lake.tables.bronze import EVENTS
from routebook.lake.tables.ddl import columns_of
from routebook.lake.tables.table import Layer, Table

_DAYS: Final = "days("
# By the first letter of the kind, too: rollups are nearly all rows and most steps want none of them, or one kind.
_FURTHER: Final = {EVENTS.path: "truncate(1, `kind`)"}
# Writers keep a file open for each day rather than sort by it first: rows of bronze come in order of time as it is.
_AS_IT_COMES: Final = {"write.distribution-mode": "none", "write.spark.fanout.enabled": "true"}
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


class Store:
    """All tables of one catalog."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._layers: set[Layer] = set()  # that are there for sure

    # -- there or not ----------------------------------------------------------------------------------------------

    def name(self, table: Table) -> str:
        """How Spark finds it."""
        return f"{CATALOG}.{table.layer}.`{table.name}`"

    def create(self, table: Table, **properties: str) -> None:
        """Make it, with a first snapshot that holds nothing, so that there is always one to go back to."""
        if table.layer not in self._layers:
            self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{table.layer}")
            self._layers.add(table.layer)
        columns = ", ".join(f"`{name}` {kind}" for name, kind in columns_of(table.columns))
        parts = ", ".join(filter(None, (_quoted(table.partition), _FURTHER.get(table.path))))
        parted = f" PARTITIONED BY ({parts})" if parts else ""
        wanted = _PROPERTIES | (_AS_IT_COMES if table.layer is Layer.BRONZE else {}) | properties
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in wanted.items())
        self.spark.sql(f"CREATE TABLE {self.name(table)} ({columns}) USING iceberg{parted} TBLPROPERTIES ({listed})")
        self._iceberg(table).newAppend().commit()

    def exists(self, table: Table) -> bool:
        """Whether it was made."""
        return bool(self.spark.catalog.tableExists(f"{CATALOG}.{table.path}"))

    def drop(self, table: Table) -> None:
        """Away with it and its files."""
        if self.exists(table):
            self.spark.sql(f"DROP TABLE {self.name(table)} PURGE")

    def matches(self, table: Table) -> bool:
        """Whether it has the columns that this release declares."""
        there = self.spark.table(self.name(table)).schema
        return [(field.name, field.dataType) for field in there] == [
            (field.name, field.dataType) for field in schema(table)
        ]

    def is_parted(self, table: Table) -> bool:
        """Whether its files are parted as this release declares."""
        there = [str(field.name()) for field in self._iceberg(table).spec().fields()]
        return table.partition is None or there[:1] == [_part_name(table.partition)]

    def add_columns(self, table: Table) -> None:
        """Add those that an earlier release did not have."""
        there = {field.name for field in self.spark.table(self.name(table)).schema}
        for name, kind in columns_of(table.columns):
            if name not in there:
                self.spark.sql(f"ALTER TABLE {self.name(table)} ADD COLUMN `{name}` {kind}")

    def property(self, table: Table, key: str) -> str | None:
        """One of its properties."""
        value = self._iceberg(table).properties().get(key)
        return None if value is None else str(value)

    def uuid(self, table: Table) -> str:
        """What tells it from a later table of the same name."""
        return str(self._iceberg(table).uuid().toString())

    # -- snapshots -------------------------------------------------------------------------------------------------

    def current(self, table: Table) -> int:
        """The snapshot that it is at."""
        return int(self._iceberg(table).currentSnapshot().snapshotId())

    def count(self, table: Table) -> int:
        """How many rows it has, as its newest snapshot says."""
        return int(self._iceberg(table).currentSnapshot().summary().get("total-records") or 0)

    def roll_back(self, table: Table, snapshot: int) -> None:
        """As if nothing had been done since."""
        self._iceberg(table).manageSnapshots().setCurrentSnapshot(snapshot).commit()

    def _iceberg(self, table: Table) -> Any:
        return iceberg_table(self.spark, f"{CATALOG}.{table.path}")

    def at(self, table: Table, snapshot: int) -> DataFrame:
        """Its rows as they were then."""
        return self.spark.read.option("versionAsOf", snapshot).table(self.name(table))

    def added(self, table: Table, *, since: int, until: int) -> DataFrame:
        """Rows that were appended between two snapshots."""
        if since == until:
            return self.empty(table)
        reader = self.spark.read.option("start-snapshot-id", since).option("end-snapshot-id", until)
        return reader.format("iceberg").load(f"{CATALOG}.{table.path}")

    def empty(self, table: Table) -> DataFrame:
        """No rows, of its columns."""
        return nothing(self.spark, table)

    def rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
        """A few rows of it, by name. By way of Arrow: else Spark would start Python's workers for them."""
        if not rows:
            return self.empty(table)
        given = pa.Table.from_pylist(list(rows), to_arrow_schema(schema(table)))
        return self.spark.createDataFrame(given).coalesce(1)

    # -- writing ---------------------------------------------------------------------------------------------------

    def append(self, table: Table, rows: DataFrame) -> None:
        """Add rows, in one commit."""
        rows.writeTo(self.name(table)).append()

    def append_as(self, table: Table, rows: DataFrame, *, only: Column, seen: int) -> None:
        """Add rows that `only` is true of, unless somebody else has since the snapshot `seen`: then it fails."""
        writer = rows.writeTo(self.name(table)).option("isolation-level", "serializable")
        writer.option("validate-from-snapshot-id", str(seen)).overwrite(only)

    def replace(self, table: Table, rows: DataFrame, *, stale: Column | None, seen: int) -> None:
        """Put `rows` in the place of those that `stale` is true of (None: of all), in one commit.

        Whole partitions are written anew, those alone that stale or new rows are in. Fails if somebody else wrote
        there since the snapshot `seen`.
        """
        if stale is None:
            self._overwrite(table, rows, F.lit(True), seen)
            return
        old = self.at(table, seen)
        day = _day_of(table)
        if day is None:
            self._overwrite(table, old.where(~_sure(stale)).unionByName(rows), F.lit(True), seen)
            return
        rows = rows.persist()
        try:
            touched = old.where(stale).select(day.alias("day")).union(rows.select(day.alias("day"))).distinct()
            days = [row.day for row in touched.collect()]
            if days:
                within = _within(table, days)
                self._overwrite(table, old.where(within & ~_sure(stale)).unionByName(rows), within, seen)
        finally:
            rows.unpersist()

    def _overwrite(self, table: Table, rows: DataFrame, where: Column, seen: int) -> None:
        writer = rows.writeTo(self.name(table)).option("isolation-level", "serializable")
        writer.option("validate-from-snapshot-id", str(seen)).overwrite(where)


def _sure(condition: Column) -> Column:
    return F.coalesce(condition, F.lit(False))


def _quoted(partition: str | None) -> str | None:
    if partition is None:
        return None
    if not partition.startswith(_DAYS):
        return f"`{partition}`"
    return f"days(`{partition.removeprefix(_DAYS).removesuffix(')')}`)"


def _part_name(partition: str) -> str:
    """As Iceberg calls it."""
    if not partition.startswith(_DAYS):
        return partition
    return f"{partition.removeprefix(_DAYS).removesuffix(')')}_day"


def _day_of(table: Table) -> Column | None:
    """The day whose partition a row is in."""
    if table.partition is None:
        return None
    if table.partition.startswith(_DAYS):
        return F.to_date(F.col(table.partition.removeprefix(_DAYS).removesuffix(")")))
    return F.col(table.partition)


def _within(table: Table, days: Sequence[date | None]) -> Column:
    """Whether a row is in the partition of one of these days, said so that Iceberg sees whole partitions."""
    partition = table.partition or ""
    by_time = partition.startswith(_DAYS)
    column = F.col(partition.removeprefix(_DAYS).removesuffix(")"))
    within: Column | None = column.isNull() if None in days else None
    for first, last in _stretches(sorted(day for day in days if day is not None)):
        begin, end = F.lit(first), F.lit(last + timedelta(days=1))
        if by_time:
            begin, end = begin.cast("timestamp"), end.cast("timestamp")
        stretch = (column >= begin) & (column < end)
        within = stretch if within is None else within | stretch
    return F.lit(False) if within is None else within


def _stretches(days: Sequence[date]) -> list[tuple[date, date]]:
    """Days that follow each other as one stretch."""
    result: list[tuple[date, date]] = []
    for day in days:
        if result and result[-1][1] + timedelta(days=1) == day:
            result[-1] = (result[-1][0], day)
        else:
            result.append((day, day))
    return result
