"""A build step: a declared table, the tables it reads, and a pure function from DataFrames to a DataFrame."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build import incremental
from routebook.lake.build.event_time import ROLLUPS, corrections, with_t
from routebook.lake.build.schema import empty_frame
from routebook.lake.build.window import Window
from routebook.lake.tables.silver import OBSERVED
from routebook.lake.tables.table import RefreshMode, Table

ALL_KINDS: Final = ("*",)
_PROGRESS: Final = ("seen_until", "last_seq", "last_t")  # of silver.observed: change with every event


class Events(NamedTuple):
    """Bronze events with `t`. State changes are few; rollups make up most of a journal."""

    states: DataFrame
    rollups: DataFrame

    def of(self, *kinds: str) -> DataFrame:
        """Events of these kinds; without arguments, all events."""
        wanted = set(kinds) or {*ROLLUPS, ""}
        frames = [self.states] if wanted - set(ROLLUPS) else []
        frames += [self.rollups] if wanted & set(ROLLUPS) else []
        rows = frames[0] if len(frames) == 1 else self.states.unionByName(self.rollups)
        return rows.where(fn.col("kind").isin(*kinds)) if kinds else rows


@contextmanager
def with_event_time(states: DataFrame, rollups: DataFrame, windows: Sequence[Window]) -> Iterator[Events]:
    """Bronze events with `t`. Clock corrections are computed once; without any, `t` is `at`."""
    in_windows = states.where(incremental.events_read(RefreshMode.BY_SEQ, windows))
    corrected = corrections(in_windows, floor=incremental.window_column("from_t", windows)).persist()
    try:
        timed = states.select("*", fn.col("at").alias("t")) if corrected.isEmpty() else with_t(states, corrected)
        yield Events(timed, rollups.select("*", fn.col("minute").alias("t")))
    finally:
        corrected.unpersist()


class Progress(StrEnum):
    """Which progress of `silver.observed` changes a table, while no NameServer starts or stops."""

    NONE = "none"  # the step sees no columns that change until the next start
    DAY = "day"  # only the first event of a day
    ANY = "any"


class Inputs:
    """The data that one step reads in one refresh.

    A refresh recomputes, for each NameServer with new events, everything from its first new event on: its window. In a
    full build the windows begin at the first event, in a backfill at a given day.
    """

    def __init__(
        self,
        step: "Step",
        *,
        events: Events,
        old: DataFrame,
        upstream: Mapping[str, tuple[Table, DataFrame]],
        windows: Sequence[Window],
    ) -> None:
        """`old` is the step's own table before the refresh, `upstream` the tables of earlier steps after it."""
        self._step = step
        self._events = events
        self._old = old
        self._upstream = upstream
        self._windows = windows
        self._cached: list[DataFrame] = []

    def events(self, *kinds: str) -> DataFrame:
        """Bronze events of these kinds within the windows, with `t`: their time, which never decreases along `seq`."""
        mode = self._step.table.refresh
        if mode in (RefreshMode.WHOLE, RefreshMode.APPEND):
            raise LookupError(f"step {self._step.table.name} reads events, but its refresh mode {mode} has no window")
        if self._step.kinds != ALL_KINDS and (not kinds or set(kinds) - set(self._step.kinds)):
            raise LookupError(f"step {self._step.table.name} reads kinds of events that its `kinds` does not list")
        return self._events.of(*kinds).where(incremental.events_read(mode, self._windows))

    def edge(self) -> DataFrame:
        """Rows of this table that were open at the begin of the window of their NameServer, with their end set to null.

        They include rows that began earlier and ended within the window: the step computes their end again. Empty in a
        full build. The rows that the step returns replace them.
        """
        return incremental.edge(self._old, self._step.table, self._windows)

    def no_rows(self) -> DataFrame:
        """This table without rows."""
        return empty_frame(self._old.sparkSession, self._step.table)

    def replaces_rows(self) -> bool:
        """Whether the table has rows that the refresh replaces: open ones, or such that ended in the window."""
        return not self._old.where(incremental.replaced(self._step.table, self._windows)).isEmpty()

    def kept(self) -> DataFrame:
        """Rows of this table that the refresh does not replace. Empty in a full build."""
        return self._old.where(~incremental.replaced(self._step.table, self._windows))

    def table(self, name: str) -> DataFrame:
        """An upstream table named in `reads`, after this refresh; of intervals, those that touch the windows."""
        if name not in self._step.reads:
            raise LookupError(f"step {self._step.table.name} reads {name}, which its `reads` does not list")
        table, rows = self._upstream[name]
        rows = rows.where(incremental.rows_read(table, self._step.table.refresh, self._windows))
        if name != OBSERVED.name or self._step.progress is not Progress.NONE:
            return rows
        ended = {one: fn.when(fn.col("to_at").isNotNull(), fn.col(one)) for one in _PROGRESS}
        return rows.withColumns(ended)

    def windows(self) -> DataFrame:
        """`ns string, from_seq bigint, from_t timestamp, first_day date`: the begin of each window.

        `from_t` is not later than any event in the window except rollups; `first_day` is the first day that daily
        tables recompute. NameServers without new events have no window.
        """
        return incremental.windows_frame(self._old.sparkSession, self._windows)

    def in_window(self, name: str) -> Column:
        """A column of `windows` for the window of a row's `ns`, without a join; null if there is no window."""
        return incremental.window_column(name, self._windows)

    def since(self) -> Column:
        """The smallest `from_t` of all windows."""
        return incremental.since(self._windows)

    def first_day(self) -> Column:
        """The smallest `first_day` of all windows."""
        return incremental.first_day(self._windows)

    def cache(self, rows: DataFrame) -> DataFrame:
        """Persist rows that the step uses several times, until `release`."""
        self._cached.append(rows.persist())
        return self._cached[-1]

    def release(self) -> None:
        """Unpersist what the step cached."""
        while self._cached:
            self._cached.pop().unpersist()


class Step(NamedTuple):
    """One table and the function that computes it.

    `kinds`, `progress` and `reads` are all that the table depends on, so a refresh skips the step if none of them has
    changed (refresh.py).
    """

    table: Table
    reads: tuple[str, ...]  # names of tables of earlier steps
    build: Callable[[Inputs], DataFrame]
    kinds: tuple[str, ...] = ALL_KINDS  # of the events that it reads
    progress: Progress = Progress.ANY
    open_only: tuple[str, ...] = ()  # kinds and upstream tables whose changes affect only rows that are open
