"""Report of broker availability per day, in the report's time zone: the fleet's view of each broker.

Times are means over the NameServers that observed the broker on a day, so a day has at most 24 hours. Outages are
those of the fleet (fleet.py). For UTC, times come from `broker_availability_daily`; for other zones they are computed
from intervals, by the same rules. docs/availability.md explains them.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from routebook.lake.reports.fleet import FleetOutage, fleet_outages
from routebook.lake.reports.scope import Report, Scope, moment

_SPANS = "silver.broker_spans"
_DAILY = "gold.broker_availability_daily"
_PROTECTIONS = "silver.protections"
_OUTAGES = "gold.outage_impact"
_PARTS = ("up", "planned_down", "unplanned_down", "protected")

_Key = tuple[str, str, int | None]  # cluster, name, id


class Cell(msgspec.Struct, frozen=True):
    """One broker on one day: availability, seconds up, seconds observed, outages, seconds protected."""

    a: float | None
    up: float
    seen: float
    outages: int
    protected: float = 0.0


class Broker(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One broker over all days; one cell per day, None if it was not observed."""

    cluster: str
    broker: str
    broker_id: int | None
    addr: str  # the last one
    availability: float | None  # of all observed time
    availability_unplanned: float | None  # without planned outages
    down_s: float
    planned_down_s: float
    protected_s: float
    outages: int  # unplanned
    planned_outages: int
    mtbf_s: float | None
    mttr_s: float | None
    cells: list[Cell | None]


class Cluster(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All brokers of a cluster."""

    cluster: str
    brokers: int
    availability: float | None
    availability_unplanned: float | None
    outages: int
    protected_s: float


class Availability(Report, frozen=True, kw_only=True):
    """Worst brokers first."""

    days: list[str]
    brokers: list[Broker]
    clusters: list[Cluster]


def availability(scope: Scope, limit: int | None) -> Availability:
    """One row per broker: its cluster, name and id."""
    scope.require(_DAILY, "broker_id", "unplanned_down_s", "protected_s")
    rows = daily(scope) if scope.zone_name == "UTC" or not scope.has(_SPANS) else from_spans(scope)
    by_broker: dict[_Key, list[dict[str, Any]]] = {}
    for row in rows:
        by_broker.setdefault((row["cluster"] or "", row["broker"], row["broker_id"]), []).append(row)
    outages: dict[_Key, list[FleetOutage]] = {}
    for one in fleet_outages(scope):
        outages.setdefault((one.cluster or "", one.broker, one.broker_id), []).append(one)
    brokers = sorted(
        (_broker(key, found, outages.get(key, []), scope) for key, found in by_broker.items()),
        key=lambda one: (1.0 if one.availability is None else one.availability, one.cluster, one.broker, one.addr),
    )
    clusters = [
        _cluster(name, [one for one in brokers if one.cluster == name])
        for name in sorted({one.cluster for one in brokers})
    ]
    days = [day.day.isoformat() for day in scope.days]
    return Availability(**scope.common("availability"), days=days, brokers=brokers[:limit], clusters=clusters)


def daily(scope: Scope) -> list[dict[str, Any]]:
    """The times of the daily table, as means over the NameServers."""
    sums = ", ".join(f"sum({part}_s) AS {part}" for part in _PARTS)
    return scope.rows(
        _DAILY,
        f""", of_ns AS (
            SELECT day, ns, cluster, broker, broker_id, max(addr) AS addr, {sums}
            FROM scoped WHERE {scope.on_days()} GROUP BY ALL
        )
        {_MEANS} FROM of_ns GROUP BY ALL ORDER BY day""",  # noqa: S608
    )


_MEANS = f"SELECT day, cluster, broker, broker_id, max(addr) AS addr, {', '.join(f'avg({p}) AS {p}' for p in _PARTS)}"


def from_spans(scope: Scope) -> list[dict[str, Any]]:
    """The same rules as gold/broker_availability_daily.py, for days of another time zone."""
    days = ", ".join(f"('{one.day}', {moment(one.begin)}, {moment(one.end)})" for one in scope.days)
    sums = ", ".join(f"sum(CASE WHEN state = '{part}' THEN s ELSE 0 END) AS {part}" for part in _PARTS)
    back_at = 'list_min([one."at" FOR one IN p.returned IF one.addr = s.addr])'
    protected = (
        f"""SELECT s.ns, s.cluster, s.broker, s.member, s.addr, s.first_id, s.roles, 'protected',
                   greatest(s.from_at, p.from_at), least(s.to_at, p.to_at, {back_at}, TIMESTAMP '9999-01-01')
            FROM scoped s JOIN {_PROTECTIONS} p ON s.ns = p.ns AND p.from_at < coalesce(s.to_at, TIMESTAMP '9999-01-01')
                 AND coalesce(p.to_at, TIMESTAMP '9999-01-01') > s.from_at
                 AND (len(p.addrs) < p.silent OR list_contains(p.addrs, s.addr))
            WHERE s.state = 'up' UNION ALL"""  # noqa: S608
        if scope.has(_PROTECTIONS)
        else ""
    )
    return scope.rows(
        _SPANS,
        f""", days(day, begin_at, end_at) AS (VALUES {days}),
        watched AS (SELECT ns, from_at AS watched_from, coalesce(to_at, seen_until) AS watched_to FROM silver.observed),
        counted(ns, cluster, broker, member, addr, first_id, roles, state, from_at, until) AS (
            {protected}
            SELECT ns, cluster, broker, member, addr, first_id, roles, 'up', from_at,
                   coalesce(to_at, TIMESTAMP '9999-01-01')
            FROM scoped WHERE state = 'up' UNION ALL
            SELECT ns, cluster, broker, member, addr, broker_id, NULL,
                   CASE WHEN planned THEN 'planned_down' ELSE 'unplanned_down' END, from_at,
                   CASE WHEN NOT planned THEN least(to_at, from_at + INTERVAL 7 DAY)
                        WHEN ended = 'returned' THEN to_at END
            FROM {_OUTAGES} WHERE NOT retired AND {scope.condition(_OUTAGES)}
        ),
        pieces AS (
            SELECT day, ns, cluster, broker, member, addr, state, greatest(from_at, watched_from, begin_at) AS began,
                   coalesce(list_last([one.broker_id FOR one IN roles IF one."at" < end_at]), first_id) AS broker_id,
                   epoch(least(until, watched_to, end_at)) - epoch(greatest(from_at, watched_from, begin_at)) AS s
            FROM counted JOIN watched USING (ns)
            JOIN days ON from_at < end_at AND watched_from < end_at AND until > begin_at AND watched_to > begin_at
        ),
        of_member AS (
            SELECT day, ns, cluster, broker, member, arg_max(addr, began) AS addr,
                   arg_max(broker_id, began) AS broker_id, {sums}
            FROM pieces WHERE s > 0 GROUP BY day, ns, cluster, broker, member
        ),
        of_ns AS (
            SELECT day, ns, cluster, broker, broker_id, max(addr) AS addr, sum(up - protected) AS up,
                   sum(planned_down) AS planned_down, sum(unplanned_down) AS unplanned_down,
                   sum(protected) AS protected
            FROM of_member GROUP BY ALL
        )
        {_MEANS} FROM of_ns GROUP BY ALL ORDER BY day""",  # noqa: S608
    )


def _broker(key: _Key, rows: list[dict[str, Any]], outages: list[FleetOutage], scope: Scope) -> Broker:
    unplanned = [one for one in outages if one.is_counted and scope.contains(one.from_at)]
    per_day = Counter(_day_of(scope, one.from_at) for one in unplanned)
    cells = {
        row["day"]: Cell(
            _share(row["up"], _seen(row)),
            round(row["up"], 3),
            round(_seen(row), 3),
            per_day[row["day"]],
            round(row["protected"], 3),
        )
        for row in rows
    }
    up, planned, down = (_sum(rows, name) for name in ("up", "planned_down", "unplanned_down"))
    repairs = [one.min_s for one in outages if one.is_counted and one.min_s is not None and scope.contains(one.to_at)]
    return Broker(
        cluster=key[0],
        broker=key[1],
        broker_id=key[2],
        addr=rows[-1]["addr"],
        availability=_share(up, up + planned + down),
        availability_unplanned=_share(up, up + down),
        down_s=round(planned + down, 3),
        planned_down_s=round(planned, 3),
        protected_s=round(_sum(rows, "protected"), 3),
        outages=len(unplanned),
        planned_outages=sum(one.planned and not one.retired and scope.contains(one.from_at) for one in outages),
        mtbf_s=up / len(unplanned) if unplanned else None,
        mttr_s=sum(repairs) / len(repairs) if repairs else None,
        cells=[cells.get(day.day.isoformat()) for day in scope.days],
    )


def _cluster(name: str, brokers: list[Broker]) -> Cluster:
    cells = [cell for one in brokers for cell in one.cells if cell is not None]
    up, seen = sum(cell.up for cell in cells), sum(cell.seen for cell in cells)
    planned = sum(one.planned_down_s for one in brokers)
    return Cluster(
        cluster=name,
        brokers=len(brokers),
        availability=_share(up, seen),
        availability_unplanned=_share(up, seen - planned),
        outages=sum(one.outages for one in brokers),
        protected_s=round(sum(one.protected_s for one in brokers), 3),
    )


def _day_of(scope: Scope, at: str) -> str:
    return datetime.fromisoformat(at).astimezone(scope.zone).date().isoformat()


def _seen(row: dict[str, Any]) -> float:
    return float(row["up"] + row["planned_down"] + row["unplanned_down"])


def _sum(rows: Iterable[dict[str, Any]], name: str) -> float:
    return float(sum(row[name] or 0 for row in rows))


def _share(up: float, seen: float) -> float | None:
    return min(1.0, up / seen) if seen > 0 else None
