"""The scope of a report: its days and time zone, and the NameServer or cluster it is restricted to."""

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from routebook.errors import UsageError
from routebook.lake.errors import OutdatedLake

if TYPE_CHECKING:
    from routebook.lake.read.reader import Build, Lake

_MAX_ROWS = 200_000


class BuildRef(msgspec.Struct, frozen=True):
    """The build that a report was computed from."""

    id: str
    at: str


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Fields of every report: its period and its build. `to` is the end of the data."""

    report: str
    build: BuildRef
    from_: str = msgspec.field(name="from")
    to: str
    zone: str


class Day(NamedTuple):
    """A day of the report's zone, and its bounds in UTC."""

    day: date
    begin: datetime
    end: datetime


class Scope:
    """The last `days` of a build's data, in a time zone, optionally of one NameServer or cluster."""

    def __init__(
        self, lake: "Lake", build: "Build", *, days: int, zone: str, ns: str | None, cluster: str | None
    ) -> None:
        if not 1 <= days <= 3660:
            raise UsageError(f"days={days}: from 1 to 3660")
        self._lake = lake
        self.build = build
        self.zone_name = zone
        self.zone = zone_of(zone)
        self._ns = ns
        self._cluster = cluster
        self.end = self._end()
        last = (self.end - timedelta(microseconds=1)).astimezone(self.zone).date()
        self.days = [_day(last - timedelta(days=back), self.zone) for back in reversed(range(days))]
        self.begin = self.days[0].begin

    def common(self, name: str) -> dict[str, Any]:
        """The fields of every report."""
        return {
            "report": name,
            "build": BuildRef(self.build.id, show(self.build.at)),
            "from_": show(self.begin),
            "to": show(self.end),
            "zone": self.zone_name,
        }

    def rows(self, table: str, sql: str) -> list[dict[str, Any]]:
        """Rows as dicts; none if the build lacks the table. `sql` selects `FROM scoped`: the table's rows in scope."""
        if table not in self.build.tables:
            return []
        where = self.condition(table)
        whole = f"WITH scoped AS (SELECT * FROM {table} WHERE {where}) {sql}"  # noqa: S608  # own names, quoted texts
        return self._lake.query(whole, as_of=self.build.id, max_rows=_MAX_ROWS).objects()

    def condition(self, table: str) -> str:
        """A condition: the row is of the NameServer and cluster that the report is restricted to."""
        conditions = [
            f"{column} = {text(wanted)}"
            for column, wanted in (("ns", self._ns), ("cluster", self._cluster))
            if wanted is not None and column in self.columns(table)
        ]
        return " AND ".join(conditions) or "true"

    def require(self, table: str, *columns: str) -> None:
        """Raises OutdatedLake if an earlier release built the table without these columns."""
        if self.has(table) and not self.columns(table).issuperset(columns):
            raise OutdatedLake(
                f"{table}: built by an earlier release, without {', '.join(columns)}; "
                "run `routebook lake build`, which rebuilds the tables from the events in the lake"
            )

    def columns(self, table: str) -> set[str]:
        return {column.name for column in self._lake.columns(table, build=self.build)}

    def has(self, table: str) -> bool:
        return table in self.build.tables

    def touching(self, begin: str, end: str) -> str:
        """A condition: the interval overlaps the period. An open interval ends with the period."""
        return f"{begin} < {moment(self.end)} AND coalesce({end}, {moment(self.end)}) >= {moment(self.begin)}"

    def _end(self) -> datetime:
        found = self.rows_unscoped("silver.observed", "SELECT max(seen_until) AS until FROM silver.observed")
        if found and found[0]["until"] is not None:
            return datetime.fromisoformat(found[0]["until"])
        return self.build.at

    def within(self, column: str) -> str:
        """A condition: the time is in the period."""
        return f"({column} >= {moment(self.begin)} AND {column} <= {moment(self.end)})"

    def contains(self, at: str | None) -> bool:
        """Whether a time in JSON form is in the period."""
        return at is not None and show(self.begin) <= at <= show(self.end)

    def on_days(self) -> str:
        """A condition: `day` is in the period."""
        return f"day BETWEEN '{self.days[0].day}' AND '{self.days[-1].day}'"

    def rows_unscoped(self, table: str, sql: str) -> list[dict[str, Any]]:
        """Rows of a query that ignores the scope; none if the build lacks the table."""
        return self._lake.query(sql, as_of=self.build.id, max_rows=_MAX_ROWS).objects() if self.has(table) else []


def zone_of(name: str) -> ZoneInfo:
    """Raises UsageError for an unknown time zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"time zone {name}: no such zone; use a name such as Europe/Berlin or UTC") from None


def show(at: datetime) -> str:
    """A time in JSON."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def moment(at: datetime) -> str:
    """A time as an SQL literal."""
    return f"TIMESTAMP '{at.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}'"


def text(value: str) -> str:
    """A text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def seconds_between(begin: str, end: str) -> float:
    """The difference of two times in JSON form."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


def _day(day: date, zone: ZoneInfo) -> Day:
    begin = datetime.combine(day, time(), zone).astimezone(UTC)
    end = datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC)
    return Day(day, begin, end)
