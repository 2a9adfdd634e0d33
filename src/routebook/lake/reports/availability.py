"""Availability of brokers, day by day, in the report's time zone.

Days of UTC come from `broker_availability_daily`. Of another zone they are cut from the spans that table is made of.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from routebook.lake.reports.scope import Report, Scope, moment

_SPANS = "silver.broker_spans"
_DAILY = "gold.broker_availability_daily"


class Cell(msgspec.Struct, frozen=True):
    """One broker on one day: the share of the seconds it was seen in which it was up."""

    a: float | None
    up: float
    seen: float
    outages: int


class Broker(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One broker over all days; one cell a day, None where nobody watched."""

    cluster: str
    broker: str
    addr: str
    availability: float | None
    outages: int
    planned_outages: int
    mtbf_s: float | None
    mttr_s: float | None
    cells: list[Cell | None]


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """All brokers of a cluster together."""

    cluster: str
    brokers: int
    availability: float | None
    outages: int


class Availability(Report, frozen=True, kw_only=True):
    """Worst brokers first."""

    days: list[str]
    brokers: list[Broker]
    clusters: list[Cluster]


def availability(scope: Scope, limit: int | None) -> Availability:
    """NameServers that saw a broker differently count by the time that each of them watched."""
    rows = daily(scope) if scope.zone_name == "UTC" or not scope.has(_SPANS) else from_spans(scope)
    by_broker: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        by_broker.setdefault((row["cluster"] or "", row["broker"], row["addr"]), []).append(row)
    repairs = _repairs(scope)
    days = [day.day.isoformat() for day in scope.days]
    brokers = sorted(
        (_broker(key, found, days, repairs.get(key)) for key, found in by_broker.items()),
        key=lambda one: (1.0 if one.availability is None else one.availability, one.cluster, one.broker, one.addr),
    )
    clusters = [
        _cluster(name, [one for one in brokers if one.cluster == name])
        for name in sorted({one.cluster for one in brokers})
    ]
    return Availability(**scope.common("availability"), days=days, brokers=brokers[:limit], clusters=clusters)


def daily(scope: Scope) -> list[dict[str, Any]]:
    """What the daily table has, all NameServers together."""
    return scope.rows(
        _DAILY,
        f"""SELECT day, cluster, broker, addr, sum(up_s) AS up, sum(observed_s) AS seen,
                   max(outages) AS outages, max(planned_outages) AS planned, sum(outages) AS all_outages
            FROM seen WHERE day BETWEEN '{scope.days[0].day}' AND '{scope.days[-1].day}' GROUP BY ALL""",  # noqa: S608
    )


def from_spans(scope: Scope) -> list[dict[str, Any]]:
    """Counts as the daily table does: gold/broker_availability_daily.py says what, and why."""
    days = ", ".join(f"('{one.day}', {moment(one.begin)}, {moment(one.end)})" for one in scope.days)
    return scope.rows(
        _SPANS,
        f""", days(day, begin_at, end_at) AS (VALUES {days}),
        watched AS (SELECT ns, from_at AS watched_from, coalesce(to_at, seen_until) AS watched_to FROM silver.observed),
        counted AS (
            SELECT *, CASE
                WHEN state = 'up' THEN coalesce(to_at, TIMESTAMP '9999-01-01')
                WHEN planned THEN CASE WHEN ended = 'returned' AND to_at <= from_at + INTERVAL 1 HOUR THEN to_at END
                ELSE least(to_at, from_at + INTERVAL 7 DAY) END AS until
            FROM seen
        ),
        pieces AS (
            SELECT day, ns, cluster, broker, addr, state, epoch(least(until, watched_to, end_at))
                   - epoch(greatest(from_at, watched_from, begin_at)) AS s
            FROM counted JOIN watched USING (ns)
            JOIN days ON from_at < end_at AND watched_from < end_at AND until > begin_at AND watched_to > begin_at
        ),
        both_ AS (
            SELECT day, ns, cluster, broker, addr, s AS seen, CASE WHEN state = 'up' THEN s ELSE 0 END AS up,
                   0 AS outage, 0 AS planned
            FROM pieces WHERE s > 0
            UNION ALL
            SELECT day, ns, cluster, broker, addr, 0, 0, CASE WHEN coalesce(planned, false) THEN 0 ELSE 1 END,
                   CASE WHEN coalesce(planned, false) THEN 1 ELSE 0 END
            FROM seen JOIN days ON from_at >= begin_at AND from_at < end_at WHERE state = 'down'
        ),
        each AS (
            SELECT day, ns, cluster, broker, addr, sum(up) AS up, sum(seen) AS seen, sum(outage) AS outages,
                   sum(planned) AS planned
            FROM both_ GROUP BY ALL
        )
        SELECT day, cluster, broker, addr, sum(up)::DOUBLE AS up, sum(seen)::DOUBLE AS seen,
               max(outages)::BIGINT AS outages, max(planned)::BIGINT AS planned, sum(outages)::BIGINT AS all_outages
        FROM each GROUP BY ALL""",  # noqa: S608
    )


def _repairs(scope: Scope) -> dict[tuple[str, str, str], float]:
    """How long outages lasted, on average, that nobody wanted and that ended in this time."""
    rows = scope.rows(
        _SPANS,
        f"""SELECT cluster, broker, addr, avg(epoch(to_at) - epoch(from_at)) AS s FROM seen
            WHERE state = 'down' AND NOT planned AND ended = 'returned'
            AND to_at >= {moment(scope.begin)} AND to_at <= {moment(scope.end)} GROUP BY ALL""",  # noqa: S608
    )
    return {(row["cluster"] or "", row["broker"], row["addr"]): row["s"] for row in rows}


def _broker(key: tuple[str, str, str], rows: list[dict[str, Any]], days: list[str], repair_s: float | None) -> Broker:
    cells: dict[str, Cell] = {
        row["day"]: Cell(
            _share(row["up"], row["seen"]), round(row["up"], 3), round(row["seen"], 3), row["outages"] or 0
        )
        for row in rows
    }
    alarms = _sum(rows, "all_outages")
    return Broker(
        cluster=key[0],
        broker=key[1],
        addr=key[2],
        availability=_share(_sum(rows, "up"), _sum(rows, "seen")),
        outages=int(_sum(rows, "outages")),
        planned_outages=int(_sum(rows, "planned")),
        mtbf_s=_sum(rows, "up") / alarms if alarms else None,
        mttr_s=repair_s,
        cells=[cells.get(day) for day in days],
    )


def _cluster(name: str, brokers: list[Broker]) -> Cluster:
    cells = [cell for one in brokers for cell in one.cells if cell is not None]
    return Cluster(
        cluster=name,
        brokers=len(brokers),
        availability=_share(sum(cell.up for cell in cells), sum(cell.seen for cell in cells)),
        outages=sum(one.outages for one in brokers),
    )


def _sum(rows: Iterable[dict[str, Any]], name: str) -> float:
    return float(sum(row[name] or 0 for row in rows))


def _share(up: float, seen: float) -> float | None:
    return min(1.0, up / seen) if seen > 0 else None
