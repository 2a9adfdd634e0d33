"""What a table of the lake is: its name, columns, keys and how it grows. Without Spark, so that readers need no JVM."""

from enum import StrEnum
from typing import NamedTuple


class Layer(StrEnum):
    """Where a table stands; also the Iceberg namespace that it is in."""

    BRONZE = "bronze"
    SILVER = "silver"
    GOLD = "gold"
    META = "meta"


class Grows(StrEnum):
    """What of a table a refresh replaces. Rows that it does not replace are never read, moved or rewritten."""

    APPEND = "append"  # rows come and stay
    BY_SEQ = "by_seq"  # intervals at one NameServer, `from_seq` to `to_seq` (null: open): those that end in the window
    BY_TIME = "by_time"  # intervals over NameServers with `from_at` and `to_at` (null: open): the same by time
    BY_DAY = "by_day"  # rows of one NameServer with a `day`: all days from its window's first on
    ALL_BY_DAY = "all_by_day"  # the same over NameServers: all days from the first of any window on
    WHOLE = "whole"  # small: all of it


class Table(NamedTuple):
    """One table."""

    name: str
    layer: Layer
    doc: str  # one line, shown by `lake tables`
    columns: str  # DDL: "ns string, seq bigint, …"; timestamps are UTC
    key: tuple[str, ...]  # what makes a row
    grows: Grows
    partition: str | None = None  # an Iceberg transform: "day"; of intervals their end, so the open ones are together
    span: tuple[str, str] = ("from_at", "to_at")  # of intervals: the columns of their time
    tells_end: tuple[str, ...] = ()  # of intervals: further columns that are known only when a row has ended

    @property
    def path(self) -> str:
        """`gold.broker_sessions`."""
        return f"{self.layer}.{self.name}"
