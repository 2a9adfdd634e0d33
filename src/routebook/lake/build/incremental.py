"""Incremental refresh: predicates for the events and rows that a step reads, and for the rows that it replaces.

A refresh recomputes each NameServer from its window on. Of the existing rows of a table it keeps those that ended
before the window, passes those that were open at its begin to the step without their end (the edge), and drops those
that began in it, because the step computes them again:

              window begins at from_seq
                    │
    ├── kept ──┤    │
          ├─── edge ┼──────┤        its end is computed again
                    │  ├── dropped ──┤
    ────────────────┼──────────────────────► seq

`to_seq` is the number of the event that ended a row, so a row belongs to the edge exactly if that event is read again.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow has no types
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from routebook.lake.build.schema import empty_frame, schema
from routebook.lake.build.window import Window, by_ns, where_ns
from routebook.lake.tables.table import RefreshMode, Table

_WINDOWS = pa.schema(
    [("ns", pa.string()), ("from_seq", pa.int64()), ("from_us", pa.int64()), ("first_day", pa.date32())]
)


def replaced(table: Table, windows: Sequence[Window]) -> Column:
    """Existing rows that the refresh replaces: the edge and the dropped ones. All others are kept."""
    match table.refresh:
        case RefreshMode.APPEND:
            return fn.lit(False)
        case RefreshMode.WHOLE:
            return fn.lit(True)
        case RefreshMode.BY_SEQ:
            return where_ns(_first_seqs(windows), lambda seq: _open_at(fn.col("to_seq"), seq))
        case RefreshMode.BY_TIME:
            return _open_at(fn.col(table.interval[1]), since(windows))
        case RefreshMode.BY_DAY:
            return where_ns(_first_days(windows), lambda day: fn.col("day") >= day)
        case RefreshMode.ALL_BY_DAY:
            return fn.col("day") >= first_day(windows)


class Days(NamedTuple):
    """The days of a backfill (UTC), both inclusive; `last` None: to the end."""

    first: date
    last: date | None = None

    def contain(self, day: Column) -> Column:
        since_first = day >= fn.lit(self.first)
        return since_first if self.last is None else since_first & (day <= fn.lit(self.last))


def in_backfill(table: Table, days: Days) -> Column:
    """Rows that a backfill may replace: those of its days, and intervals that begin before its end."""
    match table.refresh:
        case RefreshMode.APPEND | RefreshMode.WHOLE:
            return fn.lit(True)
        case RefreshMode.BY_DAY | RefreshMode.ALL_BY_DAY:
            return days.contain(fn.col("day"))
        case RefreshMode.BY_SEQ | RefreshMode.BY_TIME:
            if days.last is None:
                return fn.lit(True)
            return fn.col(table.interval[0]) < fn.lit(days.last + timedelta(days=1)).cast("timestamp")


def edge(rows: DataFrame, table: Table, windows: Sequence[Window]) -> DataFrame:
    """Existing rows that were open at the begin of the window, with their end set to null."""
    match table.refresh:
        case RefreshMode.BY_SEQ:
            began = where_ns(_first_seqs(windows), lambda seq: fn.col("from_seq") < seq, loosest=max)
        case RefreshMode.BY_TIME:
            began = fn.col(table.interval[0]) < since(windows)
        case _:
            return empty_frame(rows.sparkSession, table)
    ends = {"to_seq", table.interval[1], *table.end_columns}
    return rows.where(replaced(table, windows) & began).select(
        *(
            fn.lit(None).cast(field.dataType).alias(field.name) if field.name in ends else fn.col(field.name)
            for field in schema(table).fields
        )
    )


def events_read(mode: RefreshMode, windows: Sequence[Window]) -> Column:
    """Bronze events that a step reads whose table has this refresh mode."""
    match mode:
        case RefreshMode.WHOLE | RefreshMode.APPEND:
            return fn.lit(True)
        case RefreshMode.BY_SEQ:
            return _in_windows(windows)
        case RefreshMode.BY_TIME:
            return _in_windows(windows) | (fn.col("at") >= since(windows))
        case RefreshMode.BY_DAY:
            return where_ns(_first_days(windows), _from_day)
        case RefreshMode.ALL_BY_DAY:
            return _from_day(first_day(windows))


def rows_read(table: Table, mode: RefreshMode, windows: Sequence[Window]) -> Column:
    """Rows of an upstream table, after its refresh, that a step reads whose own table has this refresh mode."""
    if RefreshMode.WHOLE in (mode, table.refresh) or table.refresh is RefreshMode.APPEND:
        return fn.lit(True)
    if mode in (RefreshMode.BY_SEQ, table.refresh):
        return replaced(table, windows)
    if mode is RefreshMode.BY_TIME and table.refresh is RefreshMode.BY_DAY:
        return _touches(table, first_day(windows))
    if mode is RefreshMode.BY_TIME:
        return _touches(table, since(windows))
    if mode is RefreshMode.ALL_BY_DAY:
        return _touches(table, first_day(windows))
    return where_ns(_first_days(windows), lambda day: _touches(table, day))


def since(windows: Sequence[Window]) -> Column:
    """The begin of the refresh for tables across NameServers: the earliest begin of a window."""
    return fn.timestamp_micros(fn.lit(min(window.from_us for window in windows)))


def first_day(windows: Sequence[Window]) -> Column:
    """The earliest first day of a window."""
    return fn.lit(min(window.first_day for window in windows))


def window_column(name: str, windows: Sequence[Window]) -> Column:
    """`from_seq`, `from_t` or `first_day` of the window of a row's `ns`; null if the NameServer has no window."""
    if name == "from_t":
        return fn.timestamp_micros(by_ns({window.ns: window.from_us for window in windows}))
    return by_ns({window.ns: getattr(window, name) for window in windows})


def windows_frame(spark: SparkSession, windows: Sequence[Window]) -> DataFrame:
    """`ns, from_seq, from_t, first_day`."""
    rows = spark.createDataFrame(pa.Table.from_pylist([window._asdict() for window in windows], _WINDOWS))
    return rows.select("ns", "from_seq", fn.timestamp_micros("from_us").alias("from_t"), "first_day")


def _in_windows(windows: Sequence[Window]) -> Column:
    return where_ns(_first_seqs(windows), lambda seq: fn.col("seq") >= seq)


def _open_at(end: Column, begin: Column) -> Column:
    return end.isNull() | (end >= begin)


def _touches(table: Table, start: Column) -> Column:
    if table.refresh in (RefreshMode.BY_DAY, RefreshMode.ALL_BY_DAY):
        return fn.col("day") >= fn.to_date(start)
    return _open_at(fn.col(table.interval[1]), start.cast("timestamp"))


def _from_day(day: Column) -> Column:
    """Daily tables use the minute of a rollup. A clock set within that minute can move `day` by at most one day."""
    return (fn.coalesce("minute", "at") >= day.cast("timestamp")) & (fn.col("day") >= fn.date_sub(day, 1))


def _first_days(windows: Sequence[Window]) -> dict[str, date]:
    return {window.ns: window.first_day for window in windows}


def _first_seqs(windows: Sequence[Window]) -> dict[str, int]:
    return {window.ns: window.from_seq for window in windows}
