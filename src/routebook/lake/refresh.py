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

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.types import StructType

from routebook.lake.silver.timing import corrections, is_rollup, with_t
from routebook.lake.step import Step
from routebook.lake.table import Grows, Table
from routebook.lake.window import Window, any_of, day_start

_WINDOWS = pa.schema(
    [("ns", pa.string()), ("from_seq", pa.int64()), ("from_us", pa.int64()), ("first_day", pa.date32())]
)


def schema(table: Table) -> StructType:
    """The columns of a table as Spark knows them."""
    parsed = StructType.fromDDL(table.columns)
    if not isinstance(parsed, StructType):
        raise TypeError(f"{table.path}: {table.columns!r} are no columns")
    return parsed


def conform(rows: DataFrame, table: Table) -> DataFrame:
    """Exactly the declared columns, in their order and with their types."""
    return rows.select(*(fn.col(field.name).cast(field.dataType).alias(field.name) for field in schema(table).fields))


def replaced(table: Table, windows: Sequence[Window]) -> Column:
    """Of a table's old rows: those that the refresh replaces, edge and dropped. All others are kept."""
    match table.grows:
        case Grows.APPEND:
            return fn.lit(False)
        case Grows.WHOLE:
            return fn.lit(True)
        case Grows.BY_SEQ:
            return any_of([(fn.col("ns") == w.ns) & _open_at(fn.col("to_seq"), fn.lit(w.from_seq)) for w in windows])
        case Grows.BY_TIME:
            return _open_at(fn.col(table.span[1]), since(windows))
        case Grows.BY_DAY:
            return any_of([(fn.col("ns") == w.ns) & (fn.col("day") >= fn.lit(w.first_day)) for w in windows])
        case Grows.ALL_BY_DAY:
            return fn.col("day") >= fn.lit(min(w.first_day for w in windows))


def edge(rows: DataFrame, table: Table, windows: Sequence[Window]) -> DataFrame:
    """Of a table's old rows: those that were open where the window begins, their end taken away."""
    match table.grows:
        case Grows.BY_SEQ:
            began = any_of([(fn.col("ns") == w.ns) & (fn.col("from_seq") < fn.lit(w.from_seq)) for w in windows])
        case Grows.BY_TIME:
            began = fn.col(table.span[0]) < since(windows)
        case _:
            began = fn.lit(False)
    ends = {"to_seq", table.span[1], *table.tells_end}
    return rows.where(replaced(table, windows) & began).select(
        *(
            fn.lit(None).cast(field.dataType).alias(field.name) if field.name in ends else fn.col(field.name)
            for field in schema(table).fields
        )
    )


def events_seen(grows: Grows, windows: Sequence[Window]) -> Column:
    """Of bronze events: those that a step sees whose table grows so."""
    in_windows = any_of([(fn.col("ns") == w.ns) & (fn.col("seq") >= fn.lit(w.from_seq)) for w in windows])
    match grows:
        case Grows.WHOLE | Grows.APPEND:
            return fn.lit(True)
        case Grows.BY_SEQ:
            return in_windows
        case Grows.BY_TIME:
            return in_windows | (fn.col("at") >= since(windows))
        case Grows.BY_DAY:
            return any_of([(fn.col("ns") == w.ns) & _from_day(w.first_day_start) for w in windows])
        case Grows.ALL_BY_DAY:
            return _from_day(_first_day_start(windows))


def rows_seen(table: Table, grows: Grows, windows: Sequence[Window]) -> Column:
    """Of another table as it is after the refresh: the rows that a step sees whose own table grows so."""
    if Grows.WHOLE in (grows, table.grows) or table.grows is Grows.APPEND:
        return fn.lit(True)
    if grows in (Grows.BY_SEQ, table.grows):
        return replaced(table, windows)
    return any_of(
        [
            (fn.lit(True) if ns is None else fn.col("ns") == ns) & _touches(table, start)
            for ns, start in _starts(grows, windows)
        ]
    )


def since(windows: Sequence[Window]) -> Column:
    """Where tables over all NameServers begin."""
    return fn.timestamp_micros(fn.lit(min(w.from_us for w in windows)))


def windows_frame(events: DataFrame, windows: Sequence[Window]) -> DataFrame:
    """`ns, from_seq, from_t, first_day`."""
    rows = events.sparkSession.createDataFrame(pa.Table.from_pylist([w._asdict() for w in windows], _WINDOWS))
    return rows.select("ns", "from_seq", fn.timestamp_micros("from_us").alias("from_t"), "first_day")


def find_corrections(events: DataFrame, windows: Sequence[Window]) -> DataFrame:
    """Where `t` is not `at`, within the windows; made once a refresh, and kept."""
    mine = events.where(events_seen(Grows.BY_SEQ, windows) & ~is_rollup())
    return corrections(mine, windows_frame(events, windows))


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
        events: DataFrame,
        corrected: DataFrame,
        old: DataFrame,
        made: Mapping[str, Made],
        windows: Sequence[Window],
    ) -> None:
        """`old` is the step's own table before the refresh, `made` the tables before it in the order, after it."""
        self._step = step
        self._events = events
        self._corrected = corrected
        self._old = old
        self._made = made
        self._windows = windows

    def events(self, *kinds: str) -> DataFrame:
        seen = events_seen(self._step.table.grows, self._windows)
        return with_t(self._events.where(fn.col("kind").isin(*kinds) & seen if kinds else seen), self._corrected)

    def edge(self) -> DataFrame:
        return edge(self._old, self._step.table, self._windows)

    def table(self, name: str) -> DataFrame:
        if name not in self._step.reads:
            raise LookupError(f"step {self._step.table.name} reads {name} but does not say so in `reads`")
        table, rows = self._made[name]
        return rows.where(rows_seen(table, self._step.table.grows, self._windows))

    def windows(self) -> DataFrame:
        return windows_frame(self._events, self._windows)


def refresh_in_memory(
    steps: Sequence[Step], events: DataFrame, old: Mapping[str, DataFrame], windows: Sequence[Window]
) -> dict[str, DataFrame]:
    """All tables of the steps, by name, after a refresh; `old` has those from before it, by name, if there are any.

    For tests and notebooks: what an engine does with files, with data frames.
    """
    spark = events.sparkSession
    corrected = find_corrections(events, windows).persist()
    made: dict[str, Made] = {}
    for step in steps:
        table = step.table
        before = old.get(table.name)
        if before is None:
            before = spark.createDataFrame([], schema(table))
        inputs = FrameInputs(step, events=events, corrected=corrected, old=before, made=made, windows=windows)
        rows = before.where(~replaced(table, windows)).unionByName(conform(step.build(inputs), table))
        made[table.name] = Made(table, rows.localCheckpoint())
    corrected.unpersist()
    return {name: rows for name, (_, rows) in made.items()}


def _open_at(end: Column, begin: Column) -> Column:
    return end.isNull() | (end >= begin)


def _touches(table: Table, start: Column) -> Column:
    if table.grows in (Grows.BY_DAY, Grows.ALL_BY_DAY):
        return fn.col("day") >= fn.to_date(start)
    return _open_at(fn.col(table.span[1]), start)


def _from_day(start: Column) -> Column:
    """By what daily tables go by: a rollup's minute. The clock may have been set within it, by a day at most."""
    return (fn.coalesce("minute", "at") >= start) & (fn.col("day") >= fn.date_sub(fn.to_date(start), 1))


def _first_day_start(windows: Sequence[Window]) -> Column:
    return day_start(min(w.first_day for w in windows))


def _starts(grows: Grows, windows: Sequence[Window]) -> list[tuple[str | None, Column]]:
    """From when on a step sees rows, of which NameServer; None: of all."""
    if grows is Grows.BY_TIME:
        return [(None, since(windows))]
    if grows is Grows.ALL_BY_DAY:
        return [(None, _first_day_start(windows))]
    return [(w.ns, w.first_day_start) for w in windows]
