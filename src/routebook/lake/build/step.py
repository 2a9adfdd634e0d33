"""How a table is made: a declaration and a pure function. The engine decides what it is fed and what it replaces."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from pyspark.sql import Column, DataFrame

from routebook.lake.tables.table import Table


class Inputs(Protocol):
    """What one step sees of one refresh.

    A refresh redoes, for each NameServer that has new events, everything from its first new event on: its window. A
    full build is a refresh whose windows begin at the first event; a backfill, one whose windows begin at a day.
    """

    def events(self, *kinds: str) -> DataFrame:
        """Bronze events of these kinds within the windows, with `t`: their time, made never to go back along `seq`."""

    def edge(self) -> DataFrame:
        """This table's own rows that were open where the window of their NameServer begins, with their end taken away.

        Rows that began earlier and ended within the window are among them: how they end is to be found again. Empty in
        a full build. A row that the step gives back closed or open replaces it.
        """

    def table(self, name: str) -> DataFrame:
        """Another table that the step `reads`, as it is after this refresh: of intervals, what touches the windows."""

    def windows(self) -> DataFrame:
        """`ns string, from_seq bigint, from_t timestamp, first_day date`: where each window begins.

        `from_t` is no later than any event in it but rollups, `first_day` the day that daily tables are redone from.
        NameServers without news are absent.
        """

    def in_window(self, name: str) -> Column:
        """One of `windows`' columns, of the window of a row's `ns`; null where it has none. Costs no join."""

    def since(self) -> Column:
        """The least `from_t` of all windows."""

    def first_day(self) -> Column:
        """The least `first_day` of all windows."""

    def keep(self, rows: DataFrame) -> DataFrame:
        """The same rows, made once though the step needs them several times."""


class Step(NamedTuple):
    """One table and the function that makes it."""

    table: Table
    reads: tuple[str, ...]  # names of tables made before it
    build: Callable[[Inputs], DataFrame]
