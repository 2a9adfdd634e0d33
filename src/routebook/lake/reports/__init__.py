"""Reports: small typed answers to what operators ask of a lake. JSON-ready; docs/reports.md tells of each."""

from collections.abc import Callable
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple

from routebook.errors import UsageError
from routebook.lake.reports.audit import audit
from routebook.lake.reports.availability import availability
from routebook.lake.reports.divergence import convergence, divergence
from routebook.lake.reports.heartbeats import heartbeats, tradeoff
from routebook.lake.reports.outages import flaps, outages
from routebook.lake.reports.scope import Report, Scope
from routebook.lake.reports.topics import demand, placement

if TYPE_CHECKING:
    from routebook.lake.read.reader import Lake


class Known(NamedTuple):
    """A report that can be asked for."""

    title: str
    make: Callable[[Scope, int | None], Report]


REPORTS: Final[dict[str, Known]] = {
    "availability": Known("Availability of brokers, day by day", availability),
    "outages": Known("Outages, and what they cost", outages),
    "flaps": Known("Brokers that come and go", flaps),
    "divergence": Known("NameServers that disagreed", divergence),
    "convergence": Known("How fast changes reach all NameServers", convergence),
    "tradeoff": Known("Which heartbeat timeout to set", tradeoff),
    "heartbeats": Known("How regular heartbeats are", heartbeats),
    "placement": Known("Where topics live, and what hangs on one broker", placement),
    "demand": Known("Who asks for routes", demand),
    "audit": Known("Who changed what", audit),
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
    """One of REPORTS over the last days of what the lake has. Raises UsageError for a name or zone there is not."""
    known = REPORTS.get(name)
    if known is None:
        near = get_close_matches(name, REPORTS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(REPORTS)}"
        raise UsageError(f"report {name}: there is no such report; {hint}")
    build = lake.build(as_of)

    def make() -> Report:
        return known.make(Scope(lake, build, days=days, zone=zone, ns=ns, cluster=cluster), limit)

    return lake.kept((build.id, name, days, zone, ns, cluster, limit), make)


def all_reports(lake: "Lake", *, days: int, zone: str, as_of: str | datetime | None = None) -> dict[str, Report]:
    """Every one of them, over the same time."""
    scope = Scope(lake, lake.build(as_of), days=days, zone=zone, ns=None, cluster=None)
    return {name: known.make(scope, None) for name, known in REPORTS.items()}
