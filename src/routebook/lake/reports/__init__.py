"""Reports: typed, JSON-ready summaries of a lake for operators. docs/reports.md describes each."""

from collections.abc import Callable
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple

from routebook.errors import UsageError
from routebook.lake.reports.audit import audit
from routebook.lake.reports.availability import availability
from routebook.lake.reports.controller import controller
from routebook.lake.reports.divergence import convergence, divergence
from routebook.lake.reports.heartbeats import heartbeats, tradeoff
from routebook.lake.reports.outages import flaps, outages
from routebook.lake.reports.scope import Report, Scope
from routebook.lake.reports.topics import demand, placement

if TYPE_CHECKING:
    from routebook.lake.read.reader import Lake


class Entry(NamedTuple):
    """A report in the registry."""

    title: str
    make: Callable[[Scope, int | None], Report]


REPORTS: Final[dict[str, Entry]] = {
    "availability": Entry("Availability of brokers per day", availability),
    "outages": Entry("Outages and their impact", outages),
    "flaps": Entry("Flapping brokers", flaps),
    "divergence": Entry("Disagreements between NameServers", divergence),
    "convergence": Entry("Time until changes reach all NameServers", convergence),
    "tradeoff": Entry("Recommended heartbeat timeout", tradeoff),
    "heartbeats": Entry("Regularity of heartbeats", heartbeats),
    "placement": Entry("Topic placement and single points of failure", placement),
    "demand": Entry("Route look-ups", demand),
    "controller": Entry("Controller: failovers and replicas out of sync", controller),
    "audit": Entry("Admin requests", audit),
}


def make_report(
    lake: "Lake",
    name: str,
    *,
    days: int = 30,
    zone: str = "UTC",
    ns: str | None = None,
    cluster: str | None = None,
    limit: int | None = None,
    as_of: str | datetime | None = None,
) -> Report:
    """One of REPORTS over the last days of the data. Raises UsageError for an unknown name or time zone."""
    entry = REPORTS.get(name)
    if entry is None:
        near = get_close_matches(name, REPORTS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(REPORTS)}"
        raise UsageError(f"report {name}: no such report; {hint}")
    build = lake.build(as_of)

    def make() -> Report:
        return entry.make(Scope(lake, build, days=days, zone=zone, ns=ns, cluster=cluster), limit)

    return lake.cached((build.id, name, days, zone, ns, cluster, limit), make)


def all_reports(lake: "Lake", *, days: int, zone: str, as_of: str | datetime | None = None) -> dict[str, Report]:
    """All reports, over the same period."""
    scope = Scope(lake, lake.build(as_of), days=days, zone=zone, ns=None, cluster=None)
    return {name: entry.make(scope, None) for name, entry in REPORTS.items()}
