"""Report of broker availability per day, in the report's time zone.

For UTC, the figures come from `broker_availability_daily`. For other zones they are computed from `broker_spans`.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from routebook.lake.reports.scope import Report, Scope, moment

_SPANS = "silver.broker_spans"
_DAILY = "gold.broker_availability_daily"


class Cell(msgspec.Struct, frozen=True):
    """One broker on one day: availability, seconds up, seconds observed, outages."""

    a: float | None
    up: float
    seen: float
    outages: int


class Broker(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One broker over all days; one cell per day, None if it was not observed."""

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
    """All brokers of a cluster."""

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
    """NameServers that observed the same broker are weighted by their observed time."""
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
    """The figures of the daily table, over all NameServers."""
    return scope.rows(
        _DAILY,
        f"""SELECT day, cluster, broker, addr, sum(up_s) AS up, sum(observed_s) AS seen,
                   max(outages) AS outages, max(planned_outages) AS planned, sum(outages) AS all_outages
            FROM scoped WHERE {scope.on_days()} GROUP BY ALL""",  # noqa: S608
    )


def from_spans(scope: Scope) -> list[dict[str, Any]]:
    """The same rules as gold/broker_availability_daily.py, for days of another time zone."""
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
            FROM scoped
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
            FROM scoped JOIN days ON from_at >= begin_at AND from_at < end_at WHERE state = 'down'
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
    """The mean duration of the unplanned outages that ended in this period."""
    rows = scope.rows(
        _SPANS,
        f"""SELECT cluster, broker, addr, avg(epoch(to_at) - epoch(from_at)) AS s FROM scoped
            WHERE state = 'down' AND NOT planned AND ended = 'returned'
            AND {scope.within("to_at")} GROUP BY ALL""",  # noqa: S608
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
