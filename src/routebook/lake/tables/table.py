"""The declaration of a lake table: name, columns with their meaning, key, and how a refresh updates it."""

from enum import StrEnum
from typing import NamedTuple

from routebook.lake.tables.ddl import ColumnDeclaration, columns_of, declared_columns


class Layer(StrEnum):
    """The layer of a table, which is also its Iceberg namespace."""

    BRONZE = "bronze"
    SILVER = "silver"
    GOLD = "gold"
    META = "meta"


class RefreshMode(StrEnum):
    """Which rows of a table a refresh replaces. All other rows are neither read nor rewritten."""

    APPEND = "append"  # rows are only added
    BY_SEQ = "by_seq"  # intervals of one NameServer, `from_seq` to `to_seq` (null: open): those that end in the window
    BY_TIME = "by_time"  # intervals across NameServers: those whose end (null: open) is in the window
    BY_DAY = "by_day"  # rows of one NameServer with a `day`: all days from the first day of its window
    ALL_BY_DAY = "all_by_day"  # rows across NameServers with a `day`: all days from the first day of any window
    WHOLE = "whole"  # a small table: all rows


class Table(NamedTuple):
    """One table. Timestamps are in UTC."""

    name: str
    layer: Layer
    doc: str  # one line, shown by `lake tables`
    columns: str  # one line per column with its type, a sentence and an example: routebook.lake.tables.ddl
    key: tuple[str, ...]  # the columns that identify a row
    refresh: RefreshMode
    partition: str | None = None  # an Iceberg transform; intervals are partitioned by their end: open rows together
    interval: tuple[str, str] = ("from_at", "to_at")  # of intervals: the columns of their begin and end time
    end_columns: tuple[str, ...] = ()  # of intervals: further columns that have a value only when the row has ended
    about: str = ""  # Markdown for docs/tables.md: the rules by which rows are made

    @property
    def path(self) -> str:
        """Layer and name: `gold.broker_sessions`."""
        return f"{self.layer}.{self.name}"

    @property
    def ddl(self) -> str:
        """The columns without their meaning: `ns string, seq bigint`."""
        return ", ".join(f"`{name}` {kind}" for name, kind in columns_of(self.columns))

    @property
    def declared(self) -> list[ColumnDeclaration]:
        """The columns with their meaning."""
        return declared_columns(self.columns)
