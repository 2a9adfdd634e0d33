"""The pure part of a refresh: which events and rows a step sees, which rows stay, and which are made anew.

Of a table's old rows a refresh keeps those that end before the window of their NameServer; hands those that were open
there to the step, without their end (the edge); and drops those that began in it, for they are made again:

              window begins at from_seq
                    │
    ├── kept ──┤    │
          ├─── edge ┼──────┤        its end is found again
                    │  ├── dropped ──┤
    ────────────────┼──────────────────────► seq

`to_seq` is the number of the event that ended a row, so a row is an edge exactly when its end is read again.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.types import StructType

from routebook.lake.build.silver.timing import ROLLUPS, corrections, is_rollup, with_t
from routebook.lake.build.step import Step
from routebook.lake.build.window import Window, of_ns, where_ns
from routebook.lake.tables.table import RefreshMode, Table

_WINDOWS = pa.schema(
    [("ns", pa.string()), ("from_seq", pa.int64()), ("from_us", pa.int64()), ("first_day", pa.date32())]
)


def schema(table: Table) -> StructType:
    """The columns of a table as Spark knows them."""
    parsed = StructType.fromDDL(table.columns)
    if not isinstance(parsed, StructType):
        raise TypeError(f"{table.path}: {table.columns!r} are no columns")
    return parsed


def nothing(spark: SparkSession, table: Table) -> DataFrame:
    """No rows of this table, and Spark knows so when it plans: what would be done with them is left out."""
    columns = (fn.lit(None).cast(field.dataType).alias(field.name) for field in schema(table).fields)
    return spark.range(1).where(fn.lit(False)).select(*columns)


def conform(rows: DataFrame, table: Table) -> DataFrame:
    """Exactly the declared columns, in their order and with their types."""
    return rows.select(*(fn.col(field.name).cast(field.dataType).alias(field.name) for field in schema(table).fields))


def replaced(table: Table, windows: Sequence[Window]) -> Column:
    """Of a table's old rows: those that the refresh replaces, edge and dropped. All others are kept."""
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
            return fn.col("day") >= fn.lit(min(w.first_day for w in windows))


def edge(rows: DataFrame, table: Table, windows: Sequence[Window]) -> DataFrame:
    """Of a table's old rows: those that were open where the window begins, their end taken away."""
    match table.refresh:
        case RefreshMode.BY_SEQ:
            began = where_ns(_first_seqs(windows), lambda seq: fn.col("from_seq") < seq)
        case RefreshMode.BY_TIME:
            began = fn.col(table.interval[0]) < since(windows)
        case _:
            return nothing(rows.sparkSession, table)
    ends = {"to_seq", table.interval[1], *table.end_columns}
    return rows.where(replaced(table, windows) & began).select(
        *(
            fn.lit(None).cast(field.dataType).alias(field.name) if field.name in ends else fn.col(field.name)
            for field in schema(table).fields
        )
    )


def events_seen(grows: RefreshMode, windows: Sequence[Window]) -> Column:
    """Of bronze events: those that a step sees whose table grows so."""
    in_windows = where_ns(_first_seqs(windows), lambda seq: fn.col("seq") >= seq)
    match grows:
        case RefreshMode.WHOLE | RefreshMode.APPEND:
            return fn.lit(True)
        case RefreshMode.BY_SEQ:
            return in_windows
        case RefreshMode.BY_TIME:
            return in_windows | (fn.col("at") >= since(windows))
        case RefreshMode.BY_DAY:
            return where_ns(_first_days(windows), _from_day)
        case RefreshMode.ALL_BY_DAY:
            return _from_day(_first_day(windows))


def rows_seen(table: Table, grows: RefreshMode, windows: Sequence[Window]) -> Column:
    """Of another table as it is after the refresh: the rows that a step sees whose own table grows so."""
    if RefreshMode.WHOLE in (grows, table.refresh) or table.refresh is RefreshMode.APPEND:
        return fn.lit(True)
    if grows in (RefreshMode.BY_SEQ, table.refresh):
        return replaced(table, windows)
    if grows is RefreshMode.BY_TIME:
        return _touches(table, since(windows))
    if grows is RefreshMode.ALL_BY_DAY:
        return _touches(table, _first_day(windows))
    return where_ns(_first_days(windows), lambda day: _touches(table, day))


def since(windows: Sequence[Window]) -> Column:
    """Where tables over all NameServers begin."""
    return fn.timestamp_micros(fn.lit(min(w.from_us for w in windows)))


def window_column(name: str, windows: Sequence[Window]) -> Column:
    """A row's window, by its `ns`: its `from_seq`, `from_t` or `first_day`; null where it has none."""
    return of_ns({w.ns: getattr(w, name) for w in windows})


def windows_frame(spark: SparkSession, windows: Sequence[Window]) -> DataFrame:
    """`ns, from_seq, from_t, first_day`."""
    rows = spark.createDataFrame(pa.Table.from_pylist([w._asdict() for w in windows], _WINDOWS))
    return rows.select("ns", "from_seq", fn.timestamp_micros("from_us").alias("from_t"), "first_day")


class Events(NamedTuple):
    """What happened, in two heaps, both with `t`: changes of state are few, and rollups are nearly all there is."""

    states: DataFrame
    rollups: DataFrame

    def of(self, *kinds: str) -> DataFrame:
        """All, or those of these kinds."""
        asked = set(kinds) or {*ROLLUPS, ""}
        heaps = [self.states] if asked - set(ROLLUPS) else []
        heaps += [self.rollups] if asked & set(ROLLUPS) else []
        rows = heaps[0] if len(heaps) == 1 else self.states.unionByName(self.rollups)
        return rows.where(fn.col("kind").isin(*kinds)) if kinds else rows


@contextmanager
def timed(states: DataFrame, rollups: DataFrame, windows: Sequence[Window]) -> Iterator[Events]:
    """Bronze events with `t`, as long as it lasts: a clock that was set is looked for once, and found rarely."""
    mine = states.where(events_seen(RefreshMode.BY_SEQ, windows))
    corrected = corrections(mine, floor=window_column("from_t", windows)).persist()
    try:
        told = states.select("*", fn.col("at").alias("t")) if corrected.isEmpty() else with_t(states, corrected)
        yield Events(told, rollups.select("*", fn.col("minute").alias("t")))
    finally:
        corrected.unpersist()


class Made(NamedTuple):
    """A table and its rows."""

    table: Table
    rows: DataFrame


class FrameInputs:
    """The inputs of one step, from data frames: of files or of memory, that is the engine's."""

    def __init__(
        self,
        step: Step,
        *,
        events: Events,
        old: DataFrame,
        made: Mapping[str, Made],
        windows: Sequence[Window],
    ) -> None:
        """`old` is the step's own table before the refresh, `made` the tables before it in the order, after it."""
        self._step = step
        self._events = events
        self._old = old
        self._made = made
        self._windows = windows
        self._kept: list[DataFrame] = []

    def events(self, *kinds: str) -> DataFrame:
        grows = self._step.table.refresh
        if grows in (RefreshMode.WHOLE, RefreshMode.APPEND):
            raise LookupError(f"step {self._step.table.name} reads events, but grows {grows}: it has no window")
        return self._events.of(*kinds).where(events_seen(grows, self._windows))

    def edge(self) -> DataFrame:
        return edge(self._old, self._step.table, self._windows)

    def table(self, name: str) -> DataFrame:
        if name not in self._step.reads:
            raise LookupError(f"step {self._step.table.name} reads {name} but does not say so in `reads`")
        table, rows = self._made[name]
        return rows.where(rows_seen(table, self._step.table.refresh, self._windows))

    def windows(self) -> DataFrame:
        return windows_frame(self._old.sparkSession, self._windows)

    def in_window(self, name: str) -> Column:
        return window_column(name, self._windows)

    def since(self) -> Column:
        return since(self._windows)

    def first_day(self) -> Column:
        return _first_day(self._windows)

    def keep(self, rows: DataFrame) -> DataFrame:
        self._kept.append(rows.persist())
        return self._kept[-1]

    def let_go(self) -> None:
        """The step's rows are made: what was kept for them is not needed any more."""
        while self._kept:
            self._kept.pop().unpersist()


def refresh_in_memory(
    steps: Sequence[Step], events: DataFrame, old: Mapping[str, DataFrame], windows: Sequence[Window]
) -> dict[str, DataFrame]:
    """All tables of the steps, by name, after a refresh; `old` has those from before it, by name, if there are any.

    For tests and notebooks: what an engine does with files, with data frames.
    """
    made: dict[str, Made] = {}
    # cut off from how they were made, which every plan would carry
    states, rollups = (events.where(test).localCheckpoint() for test in (~is_rollup(), is_rollup()))
    with timed(states, rollups, windows) as told:
        for step in steps:
            table = step.table
            before = old.get(table.name)
            if before is None:
                before = nothing(events.sparkSession, table)
            inputs = FrameInputs(step, events=told, old=before, made=made, windows=windows)
            rows = before.where(~replaced(table, windows)).unionByName(conform(step.build(inputs), table))
            made[table.name] = Made(table, rows.localCheckpoint())
            inputs.let_go()
    return {name: rows for name, (_, rows) in made.items()}


def _open_at(end: Column, begin: Column) -> Column:
    return end.isNull() | (end >= begin)


def _touches(table: Table, start: Column) -> Column:
    if table.refresh in (RefreshMode.BY_DAY, RefreshMode.ALL_BY_DAY):
        return fn.col("day") >= fn.to_date(start)
    return _open_at(fn.col(table.interval[1]), start.cast("timestamp"))


def _from_day(day: Column) -> Column:
    """By what daily tables go by: a rollup's minute. The clock may have been set within it, by a day at most."""
    return (fn.coalesce("minute", "at") >= day.cast("timestamp")) & (fn.col("day") >= fn.date_sub(day, 1))


def _first_day(windows: Sequence[Window]) -> Column:
    return fn.lit(min(w.first_day for w in windows))


def _first_days(windows: Sequence[Window]) -> dict[str, date]:
    return {w.ns: w.first_day for w in windows}


def _first_seqs(windows: Sequence[Window]) -> dict[str, int]:
    return {w.ns: w.from_seq for w in windows}
