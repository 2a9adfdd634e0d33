"""The numbers of a NameServer at a glance."""

from collections.abc import Iterable

import msgspec

from routebook.codes import MASTER_ID, RequestCode
from routebook.server.http.context import HttpContext
from routebook.server.http.live.rows import BrokerRow, BrokerState
from routebook.server.observe.health import Condition, HealthReport, Part

_MOST_NAMED = 100


class PartSummary(msgspec.Struct, frozen=True):
    """How one part is."""

    condition: Condition
    says: str


class BrokerCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Brokers by state."""

    up: int
    recovered: int
    suspected: int
    down: int


class Protection(msgspec.Struct, frozen=True, kw_only=True):
    """Whether routes of silent brokers are kept."""

    active: bool
    silent: int
    since_ms: int | None


class PeerCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Peers by state."""

    total: int
    agrees: int
    differs: int
    diverged: int
    unreachable: int


class JournalSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The journal now."""

    state: str
    last_seq: int
    durable_seq: int
    lag_ms: int


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What the first page shows."""

    at_ms: int
    ready: bool
    condition: Condition
    parts: dict[str, PartSummary]
    clusters: int
    groups: int
    topics: int
    brokers: BrokerCounts
    masters_missing: list[str]  # groups without a master, some of them
    masters_missing_total: int
    lookups_per_s: float
    misses_per_s: float
    requests_per_s: float
    protection: Protection
    peers: PeerCounts | None
    journal: JournalSummary | None
    connections: int
    consoles: int


class Rates:
    """Requests and look-ups per second, between two looks at counters that only grow."""

    def __init__(self) -> None:
        self._requests = self._lookups = 0
        self._at_ms: int | None = None
        self.requests_per_s = self.lookups_per_s = 0.0

    def look(self, context: HttpContext, now_ms: int) -> None:
        """At most twice a second: rates over less time say nothing."""
        if self._at_ms is not None and 0 <= now_ms - self._at_ms < 500:
            return
        totals, _ = context.traffic.counts.totals()
        requests, lookups = sum(totals.values()), totals.get(int(RequestCode.GET_ROUTEINFO_BY_TOPIC), 0)
        if self._at_ms is not None and now_ms > self._at_ms:
            seconds = (now_ms - self._at_ms) / 1000
            self.requests_per_s = round((requests - self._requests) / seconds, 1)
            self.lookups_per_s = round((lookups - self._lookups) / seconds, 1)
        self._requests, self._lookups, self._at_ms = requests, lookups, now_ms


def overview(
    context: HttpContext, rows: Iterable[BrokerRow], rates: Rates, *, misses_per_s: float, consoles: int, now_ms: int
) -> Overview:
    report: HealthReport = context.health.report()
    routes, preservation = context.nameserver.routes, context.nameserver.preservation
    states = dict.fromkeys(BrokerState, 0)
    orphans = {name for name, group in routes.group_table.items() if MASTER_ID not in group.members}
    for row in rows:
        states[row.state] += 1
        if row.state is BrokerState.DOWN and row.id == MASTER_ID and row.name not in routes.group_table:
            orphans.add(row.name)
    sizes = routes.sizes()
    return Overview(
        at_ms=now_ms,
        ready=report.ready,
        condition=report.condition,
        parts={name: PartSummary(part.condition, part.says) for name, part in report.parts.items()},
        clusters=sizes.clusters,
        groups=sizes.groups,
        topics=sizes.topics,
        brokers=BrokerCounts(
            up=states[BrokerState.UP],
            recovered=states[BrokerState.RECOVERED],
            suspected=states[BrokerState.SUSPECTED],
            down=states[BrokerState.DOWN],
        ),
        masters_missing=sorted(orphans)[:_MOST_NAMED],
        masters_missing_total=len(orphans),
        lookups_per_s=rates.lookups_per_s,
        misses_per_s=misses_per_s,
        requests_per_s=rates.requests_per_s,
        protection=Protection(
            active=preservation.since_ms is not None, silent=len(preservation.silent), since_ms=preservation.since_ms
        ),
        peers=_peers(report.parts.get("peers")),
        journal=_journal(context),
        connections=len(context.traffic.connections),
        consoles=consoles,
    )


def _peers(part: Part | None) -> PeerCounts | None:
    if part is None:
        return None
    counts = {name: int(value) for name, value in part.facts.items() if isinstance(value, int | float)}
    return PeerCounts(
        total=counts.get("peers", 0),
        agrees=counts.get("agrees", 0),
        differs=counts.get("differs", 0),
        diverged=counts.get("diverged", 0),
        unreachable=counts.get("unreachable", 0),
    )


def _journal(context: HttpContext) -> JournalSummary | None:
    if context.journal is None:
        return None
    status = context.journal.status()
    return JournalSummary(
        state=status.state, last_seq=status.last_seq, durable_seq=status.durable_seq, lag_ms=status.lag_ms
    )
