"""The overview: key figures of one NameServer."""

from collections.abc import Iterable
from typing import Final

import msgspec

from routebook.codes import MASTER_ID, RequestCode
from routebook.server.http.context import HttpContext
from routebook.server.http.live.broker_rows import BrokerRow, BrokerState
from routebook.server.http.views.tables import groups_without_master
from routebook.server.observe.health import Condition, HealthReport, Part

_MAX_NAMED: Final = 100
_MIN_SAMPLE_MS: Final = 500


class PartSummary(msgspec.Struct, frozen=True):
    """Condition of one part of the server."""

    condition: Condition
    says: str


class BrokerCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Brokers by state."""

    up: int
    recovered: int
    suspected: int
    down: int


class Protection(msgspec.Struct, frozen=True, kw_only=True):
    """Mass-expiry protection: keeps the routes of brokers that stopped sending heartbeats at the same time."""

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
    """State of the journal."""

    state: str
    last_seq: int
    durable_seq: int
    lag_ms: int


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Key figures of the start page."""

    at_ms: int
    ready: bool
    condition: Condition
    parts: dict[str, PartSummary]
    clusters: int
    groups: int
    topics: int
    brokers: BrokerCounts
    masters_missing: list[str]  # the first groups without a master
    masters_missing_total: int
    topics_lost: list[str]  # the first topics that lost their last broker within a day
    topics_lost_total: int
    lookups_per_s: float
    misses_per_s: float
    requests_per_s: float
    protection: Protection
    peers: PeerCounts | None
    journal: JournalSummary | None
    connections: int
    consoles: int


class Rates:
    """Requests and look-ups per second, from two samples of cumulative counters."""

    def __init__(self) -> None:
        self._requests = self._lookups = 0
        self._at_ms: int | None = None
        self.requests_per_s = self.lookups_per_s = 0.0

    def sample(self, context: HttpContext, now_ms: int) -> None:
        """Update the rates, at most twice a second: shorter intervals are too noisy."""
        if self._at_ms is not None and 0 <= now_ms - self._at_ms < _MIN_SAMPLE_MS:
            return
        totals, _ = context.traffic.counts.totals()
        requests, lookups = sum(totals.values()), totals.get(int(RequestCode.GET_ROUTEINFO_BY_TOPIC), 0)
        if self._at_ms is not None and now_ms > self._at_ms:
            seconds = (now_ms - self._at_ms) / 1000
            self.requests_per_s = round((requests - self._requests) / seconds, 1)
            self.lookups_per_s = round((lookups - self._lookups) / seconds, 1)
        self._requests, self._lookups, self._at_ms = requests, lookups, now_ms


def make_overview(
    context: HttpContext,
    rows: Iterable[BrokerRow],
    rates: Rates,
    *,
    topics_lost: list[str],
    misses_per_s: float,
    consoles: int,
    now_ms: int,
) -> Overview:
    """Collect the key figures."""
    report: HealthReport = context.health.report()
    routes, preservation = context.nameserver.routes, context.nameserver.expiry_protection
    states: dict[str, int] = dict.fromkeys(BrokerState, 0)
    without_master = groups_without_master(context.nameserver)
    for row in rows:
        states[row.state] += 1
        if row.state is BrokerState.DOWN and row.id == MASTER_ID and row.name not in routes.group_table:
            without_master.add(row.name)
    sizes, journal = routes.sizes(), context.journal
    return Overview(
        at_ms=now_ms,
        ready=report.ready,
        condition=report.condition,
        parts={name: PartSummary(part.condition, part.says) for name, part in report.parts.items()},
        clusters=sizes.clusters,
        groups=sizes.groups,
        topics=sizes.topics,
        brokers=BrokerCounts(**states),
        masters_missing=sorted(without_master)[:_MAX_NAMED],
        masters_missing_total=len(without_master),
        topics_lost=topics_lost[:_MAX_NAMED],
        topics_lost_total=len(topics_lost),
        lookups_per_s=rates.lookups_per_s,
        misses_per_s=misses_per_s,
        requests_per_s=rates.requests_per_s,
        protection=Protection(
            active=preservation.since_ms is not None, silent=len(preservation.silent), since_ms=preservation.since_ms
        ),
        peers=_peers(report.parts.get("peers")),
        journal=None if journal is None else msgspec.convert(journal.status(), JournalSummary, from_attributes=True),
        connections=len(context.traffic.connections),
        consoles=consoles,
    )


def _peers(part: Part | None) -> PeerCounts | None:
    if part is None:
        return None
    counts = {name: int(value) for name, value in part.facts.items() if isinstance(value, int | float)}
    states = ("agrees", "differs", "diverged", "unreachable")
    return PeerCounts(total=counts.get("peers", 0), **{state: counts.get(state, 0) for state in states})
