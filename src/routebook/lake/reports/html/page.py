"""The page: figures at the top, then one section for each question."""

from collections.abc import Mapping
from datetime import datetime
from html import escape
from importlib.resources import files
from typing import TypeVar
from zoneinfo import ZoneInfo

from routebook.lake.reports.audit import Audit
from routebook.lake.reports.availability import Availability
from routebook.lake.reports.divergence import Convergence, Divergence
from routebook.lake.reports.heartbeats import Heartbeats, Tradeoff
from routebook.lake.reports.html.amounts import demand_by_topic, demand_over_time, skew_histogram
from routebook.lake.reports.html.calendar import LEGEND, calendar, percent
from routebook.lake.reports.html.curve import tradeoff_curve
from routebook.lake.reports.html.parts import Cell, Tile, chart, legend, more, nothing, section, table, tiles, when
from routebook.lake.reports.html.svg import figure, length
from routebook.lake.reports.html.timeline import divergence_timeline, outage_timeline
from routebook.lake.reports.outages import Flaps, Outages
from routebook.lake.reports.scope import Report, zone_of
from routebook.lake.reports.topics import SKEWED, Demand, Placement

T = TypeVar("T", bound=Report)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page(reports: Mapping[str, Report]) -> str:
    """One document of all reports."""
    seen = _typed(reports, "availability", Availability)
    zone = zone_of(seen.zone)
    style = files("routebook.lake.reports.html").joinpath("style.css").read_text(encoding="utf-8")
    content = (
        _top(reports),
        _availability(seen),
        _outages(_typed(reports, "outages", Outages), _typed(reports, "flaps", Flaps), zone),
        _divergence(_typed(reports, "divergence", Divergence), _typed(reports, "convergence", Convergence), zone),
        _heartbeats(_typed(reports, "tradeoff", Tradeoff), _typed(reports, "heartbeats", Heartbeats)),
        _placement(_typed(reports, "placement", Placement)),
        _demand(_typed(reports, "demand", Demand)),
        _audit(_typed(reports, "audit", Audit), zone),
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>Routebook: {escape(_period(seen, zone))}</title>
<style>
{style}</style>
</head>
<body>
<main>
<header>
<h1>RocketMQ NameServers and brokers</h1>
<p>{escape(_period(seen, zone))}, times in {escape(seen.zone)}</p>
</header>
{"".join(content)}
<footer>Made by Routebook from build {escape(seen.build.id)} of {escape(when(seen.build.at, zone))}. Data ends at
{escape(when(seen.to, zone))}.</footer>
</main>
</body>
</html>
"""


def _typed(reports: Mapping[str, Report], name: str, kind: type[T]) -> T:
    found = reports[name]
    if not isinstance(found, kind):
        raise TypeError(f"{name} is a {type(found).__name__}")
    return found


def _period(seen: Availability, zone: ZoneInfo) -> str:
    begin, end = (datetime.fromisoformat(text).astimezone(zone) for text in (seen.from_, seen.to))
    return f"{begin:%-d %B %Y} to {end:%-d %B %Y}"


def _top(reports: Mapping[str, Report]) -> str:
    seen = _typed(reports, "availability", Availability)
    gone = _typed(reports, "outages", Outages).outages
    placed = _typed(reports, "placement", Placement).totals
    differ = _typed(reports, "divergence", Divergence)
    cells = [cell for one in seen.brokers for cell in one.cells if cell is not None]
    watched = sum(cell.seen for cell in cells)
    whole = sum(cell.up for cell in cells) / watched if watched else None
    unplanned = sum(not one.planned for one in gone)
    orphaned = sum(bool(one.orphaned) for one in gone)
    still = sum(one.to_at is None for one in differ.intervals)
    return tiles(
        (
            Tile(percent(whole), f"availability of {len(seen.brokers)} brokers"),
            Tile(str(unplanned), f"outages, and {len(gone) - unplanned} planned stops"),
            Tile(str(orphaned), "outages that left topics without a broker", warn=bool(orphaned)),
            Tile(str(len(differ.intervals)), f"disagreements of NameServers, {still} open", warn=bool(still)),
            Tile(str(placed.single_broker), f"of {placed.topics} topics hang on one broker"),
        )
    )


def _availability(seen: Availability) -> str:
    note = "How much of each day a broker was up, of the time that NameServers watched it. Worst first."
    if not seen.brokers:
        return section("Availability", note, nothing("No broker was seen in this time."))
    rows = [
        (
            Cell(one.cluster),
            Cell(one.broker),
            Cell(one.addr),
            Cell(percent(one.availability), "n"),
            Cell(str(one.outages), "n"),
            Cell(str(one.planned_outages), "n"),
            Cell(length(one.mtbf_s), "n"),
            Cell(length(one.mttr_s), "n"),
        )
        for one in seen.brokers
    ]
    numbers = ("available", "outages", "planned", "MTBF", "MTTR")
    headings = [Cell("cluster"), Cell("broker"), Cell("address"), *(Cell(name, "n") for name in numbers)]
    clusters = table(
        [Cell("cluster"), Cell("brokers", "n"), Cell("available", "n"), Cell("outages", "n")],
        [
            (
                Cell(one.cluster),
                Cell(str(one.brokers), "n"),
                Cell(percent(one.availability), "n"),
                Cell(str(one.outages), "n"),
            )
            for one in seen.clusters
        ],
    )
    every = more(f"All {len(rows)} brokers", table(headings, rows))
    return section("Availability", note, chart(calendar(seen)), legend(LEGEND), clusters, every)


def _outages(gone: Outages, flaps: Flaps, zone: ZoneInfo) -> str:
    note = "When brokers were gone. A time in which a NameServer was down itself is nobody's outage."
    if not gone.outages:
        content = [nothing("No broker was gone in this time.")]
    else:
        shown = [one for one in gone.outages if not one.planned][:20]
        headings = [Cell("from"), Cell("lasted"), Cell("broker"), Cell("reason"), Cell("topics", "n")]
        headings += [Cell("without any broker"), Cell("look-ups meanwhile", "n"), Cell("seen by")]
        rows = [
            (
                Cell(when(one.from_at, zone), "t"),
                Cell(length(one.duration_s) or "still gone", "t" if one.to_at else "t flag"),
                Cell(one.broker, "t"),
                Cell(one.reason or "", "t"),
                Cell(str(one.topics), "n"),
                Cell(_some(one.topics_without_broker, one.orphaned), "flag" if one.orphaned else ""),
                Cell(figure(one.lookups_during), "n"),
                Cell(", ".join(one.seen_by), "t"),
            )
            for one in shown
        ]
        colours = (("bad", "outage"), ("severe", "topics had no broker left"), ("planned", "planned"))
        content = [chart(outage_timeline(gone)), legend(colours), table(headings, rows)]
    if flaps.flaps:
        content.append(_flaps(flaps, zone))
    return section("Outages", note, *content)


def _flaps(flaps: Flaps, zone: ZoneInfo) -> str:
    headings = [Cell("from"), Cell("broker"), Cell("NameServer"), Cell("came and went", "n"), Cell("to blame")]
    rows = [
        (
            Cell(when(one.window_start, zone), "t"),
            Cell(one.broker, "t"),
            Cell(one.ns, "t"),
            Cell(str(one.transitions), "n"),
            Cell(one.scope if one.scope == "broker" else f"{one.scope}: {one.brokers_flapping} brokers at once"),
        )
        for one in flaps.flaps[:20]
    ]
    return more(f"{len(flaps.flaps)} times brokers came and went again and again", table(headings, rows))


def _divergence(differ: Divergence, spread: Convergence, zone: ZoneInfo) -> str:
    note = "When two NameServers told clients different things, for longer than a change needs to arrive."
    content = [nothing("They agreed all the time.")]
    if differ.intervals:
        headings = [Cell("from"), Cell("lasted"), Cell("between"), Cell("what"), Cell("of")]
        rows = [
            (
                Cell(when(one.from_at, zone), "t"),
                Cell(length(one.duration_s) or "still so", "t" if one.to_at else "t flag"),
                Cell(f"{one.ns_a}, {one.ns_b}"),
                Cell(one.told()),
                Cell(" on ".join(part for part in (one.topic, one.broker) if part)),
            )
            for one in differ.intervals[:20]
        ]
        colours = (("differs", "disagreed"), ("open", "still does"))
        content = [chart(divergence_timeline(differ)), legend(colours), table(headings, rows)]
    if spread.changes and spread.p50_ms is not None and spread.p99_ms is not None:
        said = (
            f"{figure(spread.changes)} changes reached all NameServers within {length(spread.p50_ms / 1000)} at the "
            f"median, {length(spread.p99_ms / 1000)} for 99 of 100."
        )
        content.append(nothing(said))
    return section("Agreement of NameServers", note, *content)


def _heartbeats(curves: Tradeoff, beats: Heartbeats) -> str:
    note = "What each heartbeat timeout would cost in false alarms, and bring in speed. The ring is the one to set."
    if not curves.curves:
        return section("Heartbeat timeout", note, nothing("There are no heartbeats to learn from yet."))
    advice = [
        (
            Cell(one.cluster or one.ns),
            Cell(one.detector or ""),
            Cell(length(one.timeout_ms / 1000), "n"),
            Cell(figure(one.false_per_broker_day), "n"),
            Cell(length(one.mean_detection_s), "n"),
            Cell(one.reason or ""),
        )
        for one in curves.advice
    ]
    headings = [
        Cell("cluster"),
        Cell("detector"),
        Cell("set", "n"),
        Cell("false alarms a day", "n"),
        Cell("notices after", "n"),
    ]
    worst = [
        (
            Cell(one.broker),
            Cell(one.addr),
            Cell(length(one.gap_p50_ms / 1000), "n"),
            Cell(length(one.gap_p99_ms / 1000), "n"),
            Cell(length(one.gap_max_ms / 1000), "n"),
        )
        for one in beats.brokers[:20]
    ]
    columns = [Cell("broker"), Cell("address"), Cell("median gap", "n"), Cell("99 of 100", "n"), Cell("longest", "n")]
    return section(
        "Heartbeat timeout",
        note,
        chart(tradeoff_curve(curves)),
        table([*headings, Cell("why")], advice) if advice else "",
        more("Brokers with the most irregular heartbeats", table(columns, worst)) if worst else "",
    )


def _placement(placed: Placement) -> str:
    day = placed.day or "the last day"
    note = f"Where topics lived at the end of {day}. Skew 1 is even; 2: the fullest broker has twice its share."
    if not placed.topics:
        return section("Placement", note, nothing("No topic was seen."))
    risky = [one for one in placed.topics if one.no_master or one.single_broker or (one.skew or 1) >= SKEWED][:20]
    headings = [
        Cell("topic"),
        Cell("cluster"),
        Cell("brokers", "n"),
        Cell("write queues", "n"),
        Cell("skew", "n"),
        Cell(""),
    ]
    rows = [
        (
            Cell(one.topic),
            Cell(one.cluster or ""),
            Cell(str(one.brokers), "n"),
            Cell(str(one.write_queues), "n"),
            Cell("" if one.skew is None else f"{one.skew:.2f}", "n"),
            Cell(
                "no master" if one.no_master else ("one broker only" if one.single_broker else "uneven"),
                "flag" if one.no_master else "",
            ),
        )
        for one in risky
    ]
    listed = table(headings, rows) if rows else nothing("All topics stand on several brokers, evenly.")
    return section("Placement", note, chart(skew_histogram(placed)), listed)


def _demand(wanted: Demand) -> str:
    note = "How often clients asked for routes, by the hour; and for which topics."
    if not wanted.hours:
        return section("Demand", note, nothing("Nobody asked for a route in this time."))
    colours = (("s0", "look-ups"), ("severe", "for topics that are not there"))
    return section("Demand", note, chart(demand_over_time(wanted)), legend(colours), chart(demand_by_topic(wanted)))


def _audit(done: Audit, zone: ZoneInfo) -> str:
    note = "Admin requests, newest first."
    if not done.requests:
        return section("Changes by operators", note, nothing("Nobody changed anything."))
    headings = [
        Cell("at"),
        Cell("who"),
        Cell("did"),
        Cell("to"),
        Cell("before"),
        Cell("after"),
        Cell("NameServer"),
        Cell(""),
    ]
    rows = [
        (
            Cell(when(one.at, zone), "t"),
            Cell(one.who or one.peer or ""),
            Cell(one.action.replace("_", " ")),
            Cell(one.target or ""),
            Cell(_cut(one.before)),
            Cell(_cut(one.after)),
            Cell(one.ns, "t"),
            Cell("" if one.allowed else "refused", "flag"),
        )
        for one in done.requests[:50]
    ]
    return section("Changes by operators", note, table(headings, rows))


def _some(names: list[str], count: int) -> str:
    shown = ", ".join(names[:4])
    return f"{shown} and {count - 4} more" if count > 4 else shown or (str(count) if count else "")


def _cut(value: str | None) -> str:
    return "" if value is None else value if len(value) <= 120 else f"{value[:119]}…"
