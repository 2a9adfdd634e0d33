"""Timeline charts: outages per broker, and disagreements per pair of NameServers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from routebook.lake.reports.divergence import Divergence
from routebook.lake.reports.formatting import duration
from routebook.lake.reports.html.svg import TimeScale, drawing, element, row_label, time_axis, tooltip
from routebook.lake.reports.outages import Outages
from routebook.lake.reports.scope import zone_of

_WIDTH: Final = 1080.0
_LEFT: Final = 190.0
_RIGHT: Final = 20.0
_ROW: Final = 22.0
_TOP: Final = 8.0
_MIN_WIDTH: Final = 3.0  # keeps short intervals visible
_MAX_ROWS: Final = 40


class Bar(NamedTuple):
    """One interval; an open one ends where the data ends."""

    row: str
    begin: datetime
    end: datetime | None
    style: str
    description: str


def outage_timeline(report: Outages) -> Markup:
    """The brokers with the longest outages first."""
    bars = [
        Bar(
            one.broker,
            _time(one.from_at),
            None if one.to_at is None else _time(one.to_at),
            "planned" if one.planned else ("severe" if one.orphaned else "bad"),
            f"{one.broker} at {one.addr}: {one.reason or 'down'} {one.from_at[:16].replace('T', ' ')}, "
            f"{duration(one.duration_s) or one.state()}; {one.topics} topics, {one.orphaned} without a broker; "
            f"seen by {len(one.seen_by)} of {one.nameservers}: {', '.join(one.seen_by)}",
        )
        for one in report.outages
    ]
    return _timeline(bars, report.from_, report.to, report.zone, label="Outages of brokers over time")


def divergence_timeline(report: Divergence) -> Markup:
    """One row per pair of NameServers."""
    bars = [
        Bar(
            f"{one.ns_a} ↔ {one.ns_b}",
            _time(one.from_at),
            None if one.to_at is None else _time(one.to_at),
            "open" if one.to_at is None else "differs",
            f"{one.ns_a} and {one.ns_b}: {one.topic or one.broker}: {one.description()}, "
            f"{one.from_at[:16].replace('T', ' ')}, {duration(one.duration_s) or 'still open'}",
        )
        for one in report.intervals
    ]
    return _timeline(bars, report.from_, report.to, report.zone, label="Disagreements between NameServers over time")


def _timeline(bars: Sequence[Bar], begin: str, end: str, zone: str, *, label: str) -> Markup:
    last = _time(end)
    seconds: dict[str, float] = {}
    for bar in bars:
        seconds[bar.row] = seconds.get(bar.row, 0.0) + ((bar.end or last) - bar.begin).total_seconds()
    rows = sorted(seconds, key=lambda row: (-seconds[row], row))[:_MAX_ROWS]
    tops = {row: _TOP + number * _ROW for number, row in enumerate(rows)}
    bottom = _TOP + len(rows) * _ROW
    scale = TimeScale(_time(begin), last, _LEFT, _WIDTH - _RIGHT, zone_of(zone))
    parts = time_axis(scale, top=_TOP, bottom=bottom)
    for row, y in tops.items():
        parts.append(row_label(row, x=_LEFT - 10, y=y + 15))
        parts.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y + _ROW, y2=y + _ROW, class_="line"))
    for bar in bars:
        if bar.row in tops:
            left, right = scale(bar.begin), scale(bar.end or last)
            width = max(right - left, _MIN_WIDTH)
            parts.append(
                element(
                    "rect",
                    tooltip(bar.description),
                    x=min(left, _WIDTH - _RIGHT - width),
                    y=tops[bar.row] + 4,
                    width=width,
                    height=_ROW - 8,
                    rx=2,
                    class_=bar.style,
                )
            )
    return drawing(_WIDTH, bottom + 22, parts, label=label)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
