"""Reports of a lake in the terminal: the same that the HTML page shows, as tables."""

import sys
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from routebook.cli.output import print_table, say
from routebook.lake.reports import REPORTS
from routebook.lake.reports.audit import Audit
from routebook.lake.reports.availability import Availability
from routebook.lake.reports.divergence import Convergence, Divergence
from routebook.lake.reports.heartbeats import Heartbeats, Tradeoff
from routebook.lake.reports.html.calendar import grade, percent
from routebook.lake.reports.html.parts import when
from routebook.lake.reports.html.svg import figure, length
from routebook.lake.reports.outages import Flaps, Outages
from routebook.lake.reports.scope import Report, zone_of
from routebook.lake.reports.topics import SKEWED, Demand, Placement

_MOST = 15
_MARKS = {"a5": "█", "a4": "▇", "a3": "▅", "a2": "▃", "a1": "▁", "a0": "·"}


def show_reports(reports: Mapping[str, Report]) -> None:
    """One after the other."""
    first = next(iter(reports.values()))
    zone = zone_of(first.zone)
    say(f"{when(first.from_, zone)} to {when(first.to, zone)} {first.zone}, build {first.build.id}")
    for name, report in reports.items():
        print()
        say(REPORTS[name].title.upper())
        _SHOWING[name](report, zone)


def _availability(report: Availability, _: ZoneInfo) -> None:
    if not report.brokers:
        say("no broker was seen")
        return
    print_table(
        ("CLUSTER", "BROKERS", "AVAILABLE", "OUTAGES"),
        [(one.cluster, one.brokers, percent(one.availability), one.outages) for one in report.clusters],
    )
    print()
    print_table(
        ("BROKER", "ADDRESS", "AVAILABLE", "OUTAGES", "PLANNED", "MTBF", "MTTR", "DAYS"),
        [
            (
                one.broker,
                one.addr,
                percent(one.availability),
                one.outages,
                one.planned_outages,
                length(one.mtbf_s),
                length(one.mttr_s),
                "".join(_MARKS[grade(None if cell is None else cell.a)] for cell in one.cells[-60:]),
            )
            for one in report.brokers[:_MOST]
        ],
    )
    _and_more(len(report.brokers))


def _outages(report: Outages, zone: ZoneInfo) -> None:
    if not report.outages:
        say("none")
        return
    print_table(
        ("FROM", "LASTED", "BROKER", "REASON", "TOPICS", "WITHOUT BROKER", "SEEN BY"),
        [
            (
                when(one.from_at, zone),
                length(one.duration_s) or "still gone",
                one.broker,
                f"{one.reason or ''}{' (planned)' if one.planned else ''}",
                one.topics,
                one.orphaned,
                ", ".join(one.seen_by),
            )
            for one in report.outages[:_MOST]
        ],
    )
    _and_more(len(report.outages))


def _flaps(report: Flaps, zone: ZoneInfo) -> None:
    if not report.flaps:
        say("none")
        return
    print_table(
        ("FROM", "BROKER", "NAMESERVER", "TRANSITIONS", "TO BLAME"),
        [
            (when(one.window_start, zone), one.broker, one.ns, one.transitions, one.scope)
            for one in report.flaps[:_MOST]
        ],
    )
    _and_more(len(report.flaps))


def _divergence(report: Divergence, zone: ZoneInfo) -> None:
    if not report.intervals:
        say("they agreed all the time")
        return
    print_table(
        ("NAMESERVERS", "TIMES", "TOGETHER", "LONGEST", "OPEN"),
        [
            (f"{one.ns_a} {one.ns_b}", one.intervals, length(one.total_s), length(one.longest_s), one.open)
            for one in report.pairs
        ],
    )
    print()
    print_table(
        ("FROM", "LASTED", "NAMESERVERS", "WHAT", "BROKER", "TOPIC"),
        [
            (
                when(one.from_at, zone),
                length(one.duration_s) or "still so",
                f"{one.ns_a} {one.ns_b}",
                one.told(),
                one.broker or "",
                one.topic or "",
            )
            for one in report.intervals[:_MOST]
        ],
    )
    _and_more(len(report.intervals))


def _convergence(report: Convergence, _: ZoneInfo) -> None:
    if not report.changes or report.p50_ms is None or report.p99_ms is None:
        say("no change was seen by more than one NameServer")
        return
    half, most, all_of_them = (length((ms or 0) / 1000) for ms in (report.p50_ms, report.p99_ms, report.max_ms))
    say(f"{figure(report.changes)} changes: median {half}, 99 of 100 within {most}, all within {all_of_them}")


def _tradeoff(report: Tradeoff, _: ZoneInfo) -> None:
    if not report.advice:
        say("no advice yet: there are too few heartbeats to learn from")
        return
    print_table(
        ("CLUSTER", "NAMESERVER", "DETECTOR", "SET", "FALSE ALARMS A DAY", "NOTICES AFTER", "WHY"),
        [
            (
                one.cluster or "",
                one.ns,
                one.detector or "",
                length(one.timeout_ms / 1000),
                figure(one.false_per_broker_day),
                length(one.mean_detection_s),
                one.reason or "",
            )
            for one in report.advice
        ],
    )


def _heartbeats(report: Heartbeats, _: ZoneInfo) -> None:
    if not report.brokers:
        say("none were seen")
        return
    print_table(
        ("BROKER", "ADDRESS", "BEATS", "MEDIAN GAP", "99 OF 100", "LONGEST"),
        [
            (
                one.broker,
                one.addr,
                one.beats,
                *(length(ms / 1000) for ms in (one.gap_p50_ms, one.gap_p99_ms, one.gap_max_ms)),
            )
            for one in report.brokers[:_MOST]
        ],
    )
    _and_more(len(report.brokers))


def _placement(report: Placement, _: ZoneInfo) -> None:
    total = report.totals
    say(
        f"{total.topics} topics on {report.day or 'no day'}: {total.single_broker} on one broker only, "
        f"{total.no_master} without a master, {total.skewed} uneven"
    )
    risky = [one for one in report.topics if one.no_master or one.single_broker or (one.skew or 1) >= SKEWED]
    if risky:
        print_table(
            ("TOPIC", "CLUSTER", "BROKERS", "WRITE", "READ", "SKEW", "RISK"),
            [
                (
                    one.topic,
                    one.cluster or "",
                    one.brokers,
                    one.write_queues,
                    one.read_queues,
                    "" if one.skew is None else f"{one.skew:.2f}",
                    "no master" if one.no_master else ("one broker" if one.single_broker else "uneven"),
                )
                for one in risky[:_MOST]
            ],
        )
        _and_more(len(risky))


def _demand(report: Demand, _: ZoneInfo) -> None:
    if not report.topics:
        say("nobody asked for a route")
        return
    print_table(
        ("TOPIC", "LOOKUPS", "MISSES", "BYTES", "CLIENTS"),
        [(one.topic or "(others)", one.lookups, one.misses, one.bytes, one.clients) for one in report.topics[:_MOST]],
    )
    _and_more(len(report.topics))


def _audit(report: Audit, zone: ZoneInfo) -> None:
    if not report.requests:
        say("nobody changed anything")
        return
    print_table(
        ("AT", "NAMESERVER", "WHO", "ACTION", "TARGET", "ALLOWED"),
        [
            (
                when(one.at, zone),
                one.ns,
                one.who or one.peer or "",
                one.action,
                one.target or "",
                "yes" if one.allowed else "no",
            )
            for one in report.requests[:_MOST]
        ],
    )
    _and_more(len(report.requests))


def _and_more(count: int) -> None:
    if count > _MOST:
        say(f"and {count - _MOST} more: --json tells all")
    sys.stdout.flush()


_SHOWING: dict[str, Callable[[Any, ZoneInfo], None]] = {
    "availability": _availability,
    "outages": _outages,
    "flaps": _flaps,
    "divergence": _divergence,
    "convergence": _convergence,
    "tradeoff": _tradeoff,
    "heartbeats": _heartbeats,
    "placement": _placement,
    "demand": _demand,
    "audit": _audit,
}
