"""What a report is about: which days, in which time zone, of which NameServer or cluster; and its rows."""

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from routebook.errors import UsageError

if TYPE_CHECKING:
    from routebook.lake.read.reader import Build, Lake

_MAX_ROWS = 200_000


class BuildRef(msgspec.Struct, frozen=True):
    """The build that a report was made from."""

    id: str
    at: str


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What every report tells: of which time it is, from which build. `to` is where the data ends."""

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
    """The last `days` of what a build has, as one report wants it."""

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
        """Rows by their columns; none where this build has no such table. `sql` asks `FROM seen`: its rows in scope."""
        if table not in self.build.tables:
            return []
        conditions = [
            f"{column} = {text(wanted)}"
            for column, wanted in (("ns", self._ns), ("cluster", self._cluster))
            if wanted is not None and column in self.columns(table)
        ]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        whole = f"WITH seen AS (SELECT * FROM {table}{where}) {sql}"  # noqa: S608 - names of ours, texts quoted
        return self._lake.query(whole, as_of=self.build.id, max_rows=_MAX_ROWS).objects()

    def columns(self, table: str) -> set[str]:
        return {column.name for column in self._lake.columns(table, build=self.build)}

    def has(self, table: str) -> bool:
        return table in self.build.tables

    def touching(self, begin: str, end: str) -> str:
        """A condition: the interval touches the report's time. An open end is now."""
        return f"{begin} < {moment(self.end)} AND coalesce({end}, {moment(self.end)}) >= {moment(self.begin)}"

    def _end(self) -> datetime:
        found = self.rows_of("silver.observed", "SELECT max(seen_until) AS until FROM silver.observed")
        if found and found[0]["until"] is not None:
            return datetime.fromisoformat(found[0]["until"])
        return self.build.at

    def rows_of(self, table: str, sql: str) -> list[dict[str, Any]]:
        """The same without the scope."""
        return self._lake.query(sql, as_of=self.build.id, max_rows=_MAX_ROWS).objects() if self.has(table) else []


def zone_of(name: str) -> ZoneInfo:
    """Raises UsageError where there is no such time zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"time zone {name}: no such zone; write one as Europe/Berlin, or UTC") from None


def show(at: datetime) -> str:
    """As JSON holds it."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def moment(at: datetime) -> str:
    """As SQL holds it."""
    return f"TIMESTAMP '{at.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}'"


def text(value: str) -> str:
    """As SQL holds it."""
    return "'" + value.replace("'", "''") + "'"


def seconds_between(begin: str, end: str) -> float:
    """Of two times as JSON holds them."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


def _day(day: date, zone: ZoneInfo) -> Day:
    begin = datetime.combine(day, time(), zone).astimezone(UTC)
    end = datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC)
    return Day(day, begin, end)
