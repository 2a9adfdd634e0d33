"""The report of a live run, as a struct and as text."""

from collections.abc import Iterable

import msgspec

from routebook.fleet.live.controlled_sets import SetReport
from routebook.fleet.live.observations import TopicObservation

_MAX_TOPICS = 12  # shown, the worst first


class FaultRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An injected fault; times are seconds of fleet time after the start."""

    at_s: float
    kind: str
    target: str
    lasts_s: float


class FleetReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run. Times are fleet times: with a time scale they differ from real time."""

    scenario: str
    seed: int
    nameservers: tuple[str, ...]
    time_scale: float
    lasted_s: float
    brokers: int
    registrations: int
    refused: int  # rejected registrations
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
    without_route_s: float  # maximum total time of any client without a route for any topic
    faults: tuple[FaultRecord, ...]
    left_out: int
    topics: tuple[TopicObservation, ...]
    sets: SetReport = SetReport()


def format_report(report: FleetReport) -> Iterable[str]:
    """Yield the lines of the report."""
    where = ", ".join(report.nameservers)
    faster = "" if report.time_scale == 1 else f", {report.time_scale:g} times as fast as real time"
    yield f"{report.scenario or 'fleet'}: {report.lasted_s:.0f} s of a fleet at {where}{faster} (seed {report.seed})"
    yield (
        f"brokers    {report.brokers}; {report.registrations} registrations accepted, {report.refused} rejected"
        + (f"; {report.unheard} could not listen on their port" if report.unheard else "")
    )
    codes = ", ".join(f"{code} × {count}" for code, count in report.requests.items())
    total = sum(report.requests.values())
    yield f"requests   {total} ({codes}); {report.timeouts} timeouts, {report.failures} failures"
    out = f", {report.left_out} left out" if report.left_out else ""
    yield f"faults     {len(report.faults)}{out}"
    if report.sets.sets:
        sets = report.sets
        yield (
            f"sets       {sets.sets} with {sets.brokers} brokers, {sets.with_master} with a master at the end; "
            f"{sets.failovers} failovers, at most {sets.failover_max_s:.1f} s"
        )
    yield (
        f"clients    {report.clients}; {report.lookups} look-ups, {report.misses} misses, {report.errors} unanswered; "
        f"{report.topics_without_route} of {len(report.topics)} topics were without a route for at least one client"
    )
    worst = sorted(report.topics, key=lambda topic: (-topic.without_route_s, -topic.without_queue_s, topic.topic))
    affected = [topic for topic in worst if topic.without_route_s or topic.without_queue_s]
    if not affected:
        return
    yield ""
    yield f"{'topic':<28}{'no route':>10}{'longest':>10}{'no queue':>10}{'clients':>9}{'misses':>8}"
    for topic in affected[:_MAX_TOPICS]:
        yield (
            f"{topic.topic[:27]:<28}{topic.without_route_s:>9.1f}s{topic.longest_s:>9.1f}s"
            f"{topic.without_queue_s:>9.1f}s{topic.clients:>9}{topic.misses:>8}"
        )
    if len(affected) > _MAX_TOPICS:
        yield f"… and {len(affected) - _MAX_TOPICS} more"
