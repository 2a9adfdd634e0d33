"""Intervals over time, one row for each broker or pair of NameServers: outages, disagreements."""

from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import Final, NamedTuple

from routebook.lake.reports.divergence import Divergence
from routebook.lake.reports.html.svg import TimeScale, drawing, element, length, time_axis, tip
from routebook.lake.reports.outages import Outages
from routebook.lake.reports.scope import zone_of

_WIDTH: Final = 1080.0
_LEFT: Final = 190.0
_RIGHT: Final = 20.0
_ROW: Final = 22.0
_TOP: Final = 8.0
_LEAST: Final = 3.0  # a short one is still seen
_MOST_ROWS: Final = 40


class Bar(NamedTuple):
    """One interval; an open one ends where the data does."""

    row: str
    begin: datetime
    end: datetime | None
    style: str
    told: str


def outage_timeline(report: Outages) -> str:
    """Brokers with the longest outages first."""
    bars = [
        Bar(
            one.broker,
            _at(one.from_at),
            None if one.to_at is None else _at(one.to_at),
            "planned" if one.planned else ("severe" if one.orphaned else "bad"),
            f"{one.broker} at {one.addr}: {one.reason or 'gone'} {one.from_at[:16].replace('T', ' ')}, "
            f"{length(one.duration_s) or 'still gone'}; {one.topics} topics, {one.orphaned} without any broker; "
            f"seen by {', '.join(one.seen_by)}",
        )
        for one in report.outages
    ]
    return _timeline(bars, report.from_, report.to, report.zone, label="Outages of brokers over time")


def divergence_timeline(report: Divergence) -> str:
    """A row for each pair of NameServers."""
    bars = [
        Bar(
            f"{one.ns_a} ↔ {one.ns_b}",
            _at(one.from_at),
            None if one.to_at is None else _at(one.to_at),
            "open" if one.to_at is None else "differs",
            f"{one.ns_a} and {one.ns_b}: {one.topic or one.broker}: {one.told()}, "
            f"{one.from_at[:16].replace('T', ' ')}, {length(one.duration_s) or 'still so'}",
        )
        for one in report.intervals
    ]
    return _timeline(bars, report.from_, report.to, report.zone, label="When NameServers disagreed")


def _timeline(bars: Sequence[Bar], begin: str, end: str, zone: str, *, label: str) -> str:
    last = _at(end)
    down: dict[str, float] = {}
    for bar in bars:
        down[bar.row] = down.get(bar.row, 0.0) + ((bar.end or last) - bar.begin).total_seconds()
    rows = sorted(down, key=lambda row: (-down[row], row))[:_MOST_ROWS]
    place = {row: _TOP + number * _ROW for number, row in enumerate(rows)}
    bottom = _TOP + len(rows) * _ROW
    scale = TimeScale(_at(begin), last, _LEFT, _WIDTH - _RIGHT, zone_of(zone))
    parts = time_axis(scale, top=_TOP, bottom=bottom)
    for row, y in place.items():
        shown = escape(row if len(row) <= 26 else f"{row[:25]}…") + tip(row)
        parts.append(element("text", shown, x=_LEFT - 10, y=y + 15, text_anchor="end", class_="name"))
        parts.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y + _ROW, y2=y + _ROW, class_="line"))
    for bar in bars:
        if bar.row in place:
            left, right = scale(bar.begin), scale(bar.end or last)
            width = max(right - left, _LEAST)
            parts.append(
                element(
                    "rect",
                    tip(bar.told),
                    x=min(left, _WIDTH - _RIGHT - width),
                    y=place[bar.row] + 4,
                    width=width,
                    height=_ROW - 8,
                    rx=2,
                    class_=bar.style,
                )
            )
    return drawing(_WIDTH, bottom + 22, parts, label=label)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)
