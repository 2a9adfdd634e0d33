"""Prints the reports of a lake as tables; the HTML page shows the same figures."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo

from routebook.cli.output import print_line, print_table
from routebook.lake.reports import REPORTS
from routebook.lake.reports.audit import Audit
from routebook.lake.reports.availability import Availability
from routebook.lake.reports.controller import Controller
from routebook.lake.reports.divergence import Convergence, Divergence
from routebook.lake.reports.formatting import duration, grade, local_time, number, percent
from routebook.lake.reports.heartbeats import Heartbeats, Tradeoff
from routebook.lake.reports.outages import Flaps, Outages
from routebook.lake.reports.scope import Report, zone_of
from routebook.lake.reports.topics import SKEWED, Demand, Placement

_MAX_ROWS: Final = 15
_MAX_DAYS: Final = 60
_MARKS: Final = {"a5": "█", "a4": "▇", "a3": "▅", "a2": "▃", "a1": "▁", "a0": "·"}


def show_reports(reports: Mapping[str, Report]) -> None:
    """Print all reports."""
    first = next(iter(reports.values()))
    zone = zone_of(first.zone)
    print_line(f"{local_time(first.from_, zone)} to {local_time(first.to, zone)} {first.zone}, build {first.build.id}")
    for name, report in reports.items():
        print()
        print_line(REPORTS[name].title.upper())
        _PRINTERS[name](report, zone)
        sys.stdout.flush()


def _print_rows(headings: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """Print the first rows, or `empty` if there are none."""
    every = list(rows)
    if not every:
        print_line(empty)
        return
    print_table(headings, every[:_MAX_ROWS])
    if len(every) > _MAX_ROWS:
        print_line(f"and {len(every) - _MAX_ROWS} more; --json prints all")


def _availability(report: Availability, _: ZoneInfo) -> None:
    if report.brokers:
        clusters = [
            (one.cluster, one.brokers, percent(one.availability), percent(one.availability_unplanned), one.outages)
            for one in report.clusters
        ]
        print_table(("CLUSTER", "BROKERS", "AVAILABLE", "WITHOUT PLANNED", "OUTAGES"), clusters)
        uncertain = [one for one in report.clusters if one.protected_s]
        for one in uncertain:
            print_line(
                f"{one.cluster}: uncertain for {duration(one.protected_s)} of broker time (mass-expiry protection), "
                "which counts neither as up nor as down"
            )
        print_line("An outage counts from its detection; the broker may have failed up to one lease earlier.")
        print()
    _print_rows(
        ("BROKER", "ID", "ADDRESS", "AVAILABLE", "WITHOUT PLANNED", "OUTAGES", "PLANNED", "MTBF", "MTTR", "DAYS"),
        (
            (
                one.broker,
                "" if one.broker_id is None else one.broker_id,
                one.addr,
                percent(one.availability),
                percent(one.availability_unplanned),
                one.outages,
                one.planned_outages,
                duration(one.mtbf_s),
                duration(one.mttr_s),
                "".join(_MARKS[grade(None if cell is None else cell.a)] for cell in one.cells[-_MAX_DAYS:]),
            )
            for one in report.brokers
        ),
        empty="no brokers",
    )


def _outages(report: Outages, zone: ZoneInfo) -> None:
    _print_rows(
        ("FROM", "DURATION", "AT MOST", "BROKER", "ID", "REASON", "TOPICS", "WITHOUT BROKER", "SEEN BY"),
        (
            (
                local_time(one.from_at, zone),
                duration(one.duration_s) or one.state(),
                duration(one.max_s),
                one.broker,
                "" if one.broker_id is None else one.broker_id,
                f"{one.reason or ''}{' (planned)' if one.planned else ''}",
                one.topics,
                one.orphaned,
                f"{len(one.seen_by)} of {one.nameservers}: {', '.join(one.seen_by)}",
            )
            for one in report.outages
        ),
        empty="none",
    )


def _flaps(report: Flaps, zone: ZoneInfo) -> None:
    _print_rows(
        ("FROM", "BROKER", "NAMESERVER", "KIND", "TRANSITIONS", "CAUSE"),
        (
            (local_time(one.window_start, zone), one.broker, one.ns, one.kind or "", one.transitions, one.scope)
            for one in report.flaps
        ),
        empty="none",
    )


def _controller(report: Controller, zone: ZoneInfo) -> None:
    if report.sets:
        fastest = f"p50 {duration(report.failover_p50_s) or '-'}, longest {duration(report.failover_max_s) or '-'}"
        print_line(f"{report.failovers} failovers ({fastest}), {report.unclean} unclean elections")
    _print_rows(
        ("SET", "CLUSTER", "ELECTIONS", "FAILOVERS", "LONGEST", "WITHOUT MASTER", "UNCLEAN", "OUT OF SYNC", "NOW"),
        (
            (
                one.broker,
                one.cluster,
                one.elections,
                one.failovers,
                duration(one.longest_failover_s) or "",
                duration(one.without_master_s),
                one.unclean,
                duration(one.out_of_sync_s),
                "no master" if one.without_master else " ".join(map(str, one.out_of_sync)),
            )
            for one in report.sets
        ),
        empty="no broker sets",
    )
    if report.elections:
        print()
        _print_rows(
            ("AT", "SET", "CAUSE", "BEFORE", "MASTER", "FAILOVER"),
            (
                (
                    local_time(one.at, zone),
                    one.broker,
                    f"{one.cause.replace('_', ' ')}{' (unclean)' if one.unclean else ''}",
                    "" if one.before_id is None else one.before_id,
                    "none" if one.master_id is None else one.master_id,
                    duration(one.failover_s) or "",
                )
                for one in report.elections
            ),
            empty="none",
        )


def _divergence(report: Divergence, zone: ZoneInfo) -> None:
    if report.intervals:
        pairs = [
            (f"{one.ns_a} {one.ns_b}", one.intervals, duration(one.total_s), duration(one.longest_s), one.open)
            for one in report.pairs
        ]
        print_table(("NAMESERVERS", "INTERVALS", "TOTAL", "LONGEST", "ONGOING"), pairs)
        print()
    _print_rows(
        ("FROM", "DURATION", "NAMESERVERS", "DIFFERENCE", "BROKER", "TOPIC"),
        (
            (
                local_time(one.from_at, zone),
                duration(one.duration_s) or "ongoing",
                f"{one.ns_a} {one.ns_b}",
                one.description(),
                one.broker or "",
                one.topic or "",
            )
            for one in report.intervals
        ),
        empty="none",
    )


def _convergence(report: Convergence, _: ZoneInfo) -> None:
    if not report.changes or report.p50_ms is None or report.p99_ms is None:
        print_line("no change was recorded by more than one NameServer")
        return
    p50, p99, longest = (duration((ms or 0) / 1000) for ms in (report.p50_ms, report.p99_ms, report.max_ms))
    print_line(f"{number(report.changes)} changes: p50 {p50}, p99 {p99}, maximum {longest}")


def _tradeoff(report: Tradeoff, _: ZoneInfo) -> None:
    _print_rows(
        ("CLUSTER", "NAMESERVER", "DETECTOR", "TIMEOUT", "FALSE ALARMS PER DAY", "DETECTION", "REASON"),
        (
            (
                one.cluster or "",
                one.ns,
                one.detector or "",
                duration(one.timeout_ms / 1000),
                number(one.false_per_broker_day),
                duration(one.mean_detection_s),
                one.reason or "",
            )
            for one in report.advice
        ),
        empty="no advice: too few heartbeats are recorded",
    )


def _heartbeats(report: Heartbeats, _: ZoneInfo) -> None:
    _print_rows(
        ("BROKER", "ADDRESS", "HEARTBEATS", "P50 GAP", "P99 GAP", "MAX GAP"),
        (
            (
                one.broker,
                one.addr,
                one.beats,
                *(duration(ms / 1000) for ms in (one.gap_p50_ms, one.gap_p99_ms, one.gap_max_ms)),
            )
            for one in report.brokers
        ),
        empty="none",
    )


def _placement(report: Placement, _: ZoneInfo) -> None:
    total = report.totals
    print_line(
        f"{total.topics} topics on {report.day or 'no day'}: {total.single_broker} on one broker only, "
        f"{total.no_master} without a master, {total.skewed} uneven"
    )
    risky = [one for one in report.topics if one.no_master or one.single_broker or (one.skew or 1) >= SKEWED]
    if risky:
        _print_rows(
            ("TOPIC", "CLUSTER", "BROKERS", "WRITE", "READ", "SKEW", "RISK"),
            (
                (
                    one.topic,
                    one.cluster or "",
                    one.brokers,
                    one.write_queues,
                    one.read_queues,
                    "" if one.skew is None else f"{one.skew:.2f}",
                    "no master" if one.no_master else ("one broker" if one.single_broker else "uneven"),
                )
                for one in risky
            ),
            empty="none",
        )


def _demand(report: Demand, _: ZoneInfo) -> None:
    _print_rows(
        ("TOPIC", "LOOKUPS", "MISSES", "BYTES", "CLIENTS"),
        ((one.topic or "(others)", one.lookups, one.misses, one.bytes, one.clients) for one in report.topics),
        empty="no look-ups",
    )


def _audit(report: Audit, zone: ZoneInfo) -> None:
    _print_rows(
        ("AT", "NAMESERVER", "WHO", "ACTION", "TARGET", "ALLOWED"),
        (
            (
                local_time(one.at, zone),
                one.ns,
                one.who or one.peer or "",
                one.action,
                one.target or "",
                "yes" if one.allowed else "no",
            )
            for one in report.requests
        ),
        empty="no admin requests",
    )


_PRINTERS: Final[dict[str, Callable[[Any, ZoneInfo], None]]] = {
    "availability": _availability,
    "outages": _outages,
    "flaps": _flaps,
    "divergence": _divergence,
    "convergence": _convergence,
    "tradeoff": _tradeoff,
    "heartbeats": _heartbeats,
    "placement": _placement,
    "demand": _demand,
    "controller": _controller,
    "audit": _audit,
}
