"""What a run came to: for machines as it is, for people in a page."""

from collections.abc import Iterable

import msgspec

from routebook.fleet.live.observations import TopicSeen

_SHOWN = 12  # topics that fared worst


class FaultDone(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that befell the fleet, so many seconds after the start (of the fleet's time)."""

    at_s: float
    kind: str
    target: str
    lasts_s: float


class FleetReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that is to be known afterwards. Times are the fleet's own, also where it ran faster."""

    scenario: str
    seed: int
    nameservers: tuple[str, ...]
    time_scale: float
    lasted_s: float
    brokers: int
    registrations: int
    refused: int  # registrations that a NameServer did not take
    unheard: int  # brokers that could not listen on their own port
    clients: int
    requests: dict[str, int]  # by code
    answers: dict[str, int]
    timeouts: int
    failures: int
    lookups: int
    misses: int
    errors: int
    topics_without_route: int
    without_route_s: float  # the longest that any client was without the route of any topic, all in all
    faults: tuple[FaultDone, ...]
    left_out: int
    topics: tuple[TopicSeen, ...]


def lines(report: FleetReport) -> Iterable[str]:
    """The report for people."""
    where = ", ".join(report.nameservers)
    faster = "" if report.time_scale == 1 else f", {report.time_scale:g} times as fast as in real life"
    yield f"{report.scenario or 'fleet'}: {report.lasted_s:.0f} s of a fleet at {where}{faster} (seed {report.seed})"
    yield (
        f"brokers    {report.brokers}; {report.registrations} registrations taken, {report.refused} refused"
        + (f"; {report.unheard} without a port of their own" if report.unheard else "")
    )
    codes = ", ".join(f"{code} × {count}" for code, count in report.requests.items())
    total = sum(report.requests.values())
    yield f"requests   {total} ({codes}); {report.timeouts} timeouts, {report.failures} failures"
    out = f", {report.left_out} left out" if report.left_out else ""
    yield f"faults     {len(report.faults)}{out}"
    yield (
        f"clients    {report.clients}; {report.lookups} look-ups, {report.misses} misses, {report.errors} unanswered; "
        f"{report.topics_without_route} of {len(report.topics)} topics had no route for some client at some time"
    )
    worst = sorted(report.topics, key=lambda seen: (-seen.without_route_s, -seen.without_queue_s, seen.topic))
    hurt = [seen for seen in worst if seen.without_route_s or seen.without_queue_s]
    if not hurt:
        return
    yield ""
    yield f"{'topic':<28}{'no route':>10}{'longest':>10}{'no queue':>10}{'clients':>9}{'misses':>8}"
    for seen in hurt[:_SHOWN]:
        yield (
            f"{seen.topic[:27]:<28}{seen.without_route_s:>9.1f}s{seen.longest_s:>9.1f}s"
            f"{seen.without_queue_s:>9.1f}s{seen.clients:>9}{seen.misses:>8}"
        )
    if len(hurt) > _SHOWN:
        yield f"… and {len(hurt) - _SHOWN} more"
