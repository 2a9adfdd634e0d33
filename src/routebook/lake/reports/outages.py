"""Reports of broker outages with their impact, and of flapping brokers."""

from typing import Any

import msgspec

from routebook.lake.reports.own_topics import OwnTopics
from routebook.lake.reports.scope import Report, Scope, seconds_between

_DEFAULT_LIMIT = 500
_MAX_NAMES = 20


class Outage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An interval in which a broker was down. Overlapping outages at several NameServers are one outage."""

    cluster: str | None
    broker: str
    addr: str
    from_at: str
    to_at: str | None  # None: still down
    duration_s: float | None
    reason: str | None
    planned: bool | None
    seen_by: list[str]
    topics: int
    topics_without_broker: list[str]  # at most _MAX_NAMES names
    orphaned: int  # their number, without RocketMQ's own topics
    write_queues_lost: int
    lookups_during: int


class Outages(Report, frozen=True, kw_only=True):
    """Newest first."""

    outages: list[Outage]
    truncated: bool


class Flap(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An interval in which a broker flapped, and the likely cause."""

    ns: str
    cluster: str | None
    broker: str
    addr: str
    window_start: str
    window_end: str
    transitions: int
    brokers_flapping: int
    scope: str


class Flaps(Report, frozen=True, kw_only=True):
    """Newest first."""

    flaps: list[Flap]
    truncated: bool


def outages(scope: Scope, limit: int | None) -> Outages:
    """From `outage_impact`."""
    rows = scope.rows(
        "gold.outage_impact",
        f"SELECT * FROM scoped WHERE {scope.touching('from_at', 'to_at')} ORDER BY addr, broker, from_at",  # noqa: S608
    )
    own = OwnTopics(scope)
    found = [_outage(group, own) for group in _grouped(rows)]
    found.sort(key=lambda one: one.from_at, reverse=True)
    limit = limit or _DEFAULT_LIMIT
    return Outages(**scope.common("outages"), outages=found[:limit], truncated=len(found) > limit)


def flaps(scope: Scope, limit: int | None) -> Flaps:
    """From `broker_flaps`."""
    limit = limit or _DEFAULT_LIMIT
    rows = scope.rows(
        "gold.broker_flaps",
        f"""SELECT ns, cluster, broker, addr, window_start, window_end, transitions, brokers_flapping, scope FROM scoped
            WHERE {scope.touching("window_start", "window_end")} ORDER BY window_start DESC, ns, broker
            LIMIT {limit + 1}""",  # noqa: S608
    )
    return Flaps(**scope.common("flaps"), flaps=[Flap(**row) for row in rows[:limit]], truncated=len(rows) > limit)


def _grouped(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Groups of overlapping rows of the same broker."""
    found: list[list[dict[str, Any]]] = []
    until: str | None = ""
    for row in rows:
        last = found[-1][-1] if found else None
        of_one = last is not None and (last["addr"], last["broker"]) == (row["addr"], row["broker"])
        if of_one and (until is None or row["from_at"] <= until):
            found[-1].append(row)
            until = None if until is None or row["to_at"] is None else max(until, row["to_at"])
            continue
        found.append([row])
        until = row["to_at"]
    return found


def _outage(rows: list[dict[str, Any]], own: OwnTopics) -> Outage:
    orphans = sorted({name for row in rows for name in row["orphans"] or () if name not in own})
    from_at = min(row["from_at"] for row in rows)
    to_at = None if any(row["to_at"] is None for row in rows) else max(row["to_at"] for row in rows)
    first = rows[0]
    return Outage(
        cluster=first["cluster"],
        broker=first["broker"],
        addr=first["addr"],
        from_at=from_at,
        to_at=to_at,
        duration_s=None if to_at is None else seconds_between(from_at, to_at),
        reason=next((row["reason"] for row in rows if row["reason"]), None),
        planned=next((row["planned"] for row in rows if row["planned"] is not None), None),
        seen_by=sorted({row["ns"] for row in rows}),
        topics=max(row["topics"] or 0 for row in rows),
        topics_without_broker=orphans[:_MAX_NAMES],
        orphaned=len(orphans),
        write_queues_lost=max(row["write_queues_lost"] or 0 for row in rows),
        lookups_during=sum(row["lookups_during"] or 0 for row in rows),
    )
