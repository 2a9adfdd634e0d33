"""Reports of broker outages with their impact, and of flapping brokers."""

import msgspec

from routebook.lake.reports.fleet import FleetOutage, fleet_outages
from routebook.lake.reports.own_topics import OwnTopics
from routebook.lake.reports.scope import Report, Scope

_DEFAULT_LIMIT = 500
_MAX_NAMES = 20


class Outage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An interval in which a broker was down, as the fleet saw it."""

    cluster: str | None
    broker: str
    broker_id: int | None
    addr: str  # when it went
    returned_addr: str | None
    from_at: str  # detection: the broker left the routes
    to_at: str | None  # None: still down
    duration_s: float | None  # from the detection: the lower bound
    last_seen_at: str
    max_s: float | None  # from the last sign of life: the upper bound
    reason: str | None
    planned: bool | None
    retired: bool
    seen_by: list[str]
    nameservers: int  # how many knew the broker and were running
    topics: int
    topics_without_broker: list[str]  # at most _MAX_NAMES names
    orphaned: int  # their number, without RocketMQ's own topics
    write_queues_lost: int
    lookups_during: int

    def state(self) -> str:
        """What is known of an outage without an end."""
        if self.to_at is not None:
            return ""
        return "retired" if self.retired else ("stopped" if self.planned else "still down")


class Outages(Report, frozen=True, kw_only=True):
    """Newest first."""

    outages: list[Outage]
    truncated: bool


class Flap(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An interval in which a broker flapped, and the likely cause."""

    ns: str
    cluster: str | None
    broker: str
    broker_id: int | None
    addr: str
    window_start: str
    window_end: str
    transitions: int
    kind: str | None  # flap, restart_loop, mixed
    brokers_flapping: int
    scope: str


class Flaps(Report, frozen=True, kw_only=True):
    """Newest first."""

    flaps: list[Flap]
    truncated: bool


def outages(scope: Scope, limit: int | None) -> Outages:
    """From `outage_impact`."""
    own = OwnTopics(scope)
    found = [_outage(one, own) for one in fleet_outages(scope)]
    found.sort(key=lambda one: one.from_at, reverse=True)
    limit = limit or _DEFAULT_LIMIT
    return Outages(**scope.common("outages"), outages=found[:limit], truncated=len(found) > limit)


def flaps(scope: Scope, limit: int | None) -> Flaps:
    """From `broker_flaps`."""
    limit = limit or _DEFAULT_LIMIT
    scope.require("gold.broker_flaps", "broker_id", "kind")
    rows = scope.rows(
        "gold.broker_flaps",
        f"""SELECT ns, cluster, broker, broker_id, addr, window_start, window_end, transitions, kind, brokers_flapping,
                   scope FROM scoped
            WHERE {scope.touching("window_start", "window_end")} ORDER BY window_start DESC, ns, broker
            LIMIT {limit + 1}""",  # noqa: S608
    )
    return Flaps(**scope.common("flaps"), flaps=[Flap(**row) for row in rows[:limit]], truncated=len(rows) > limit)


def _outage(one: FleetOutage, own: OwnTopics) -> Outage:
    orphans = sorted({name for row in one.rows for name in row["orphans"] or () if name not in own})
    return Outage(
        cluster=one.cluster,
        broker=one.broker,
        broker_id=one.broker_id,
        addr=one.addr,
        returned_addr=one.returned_addr,
        from_at=one.from_at,
        to_at=one.to_at,
        duration_s=one.min_s,
        last_seen_at=one.last_seen_at,
        max_s=one.max_s,
        reason=one.reason,
        planned=one.planned,
        retired=one.retired,
        seen_by=one.seen_by,
        nameservers=one.nameservers,
        topics=max(row["topics"] or 0 for row in one.rows),
        topics_without_broker=orphans[:_MAX_NAMES],
        orphaned=len(orphans),
        write_queues_lost=max(row["write_queues_lost"] or 0 for row in one.rows),
        lookups_during=sum(row["lookups_during"] or 0 for row in one.rows),
    )
