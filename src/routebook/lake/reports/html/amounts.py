"""How much: look-ups over time, topics by demand, topics by how unevenly their queues stand."""

from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import Final

from routebook.lake.reports.html.svg import Scale, TimeScale, drawing, element, figure, steps, text, time_axis, tip
from routebook.lake.reports.scope import zone_of
from routebook.lake.reports.topics import Demand, Placement

_WIDTH: Final = 1080.0
_LEFT: Final = 74.0
_RIGHT: Final = 20.0


def demand_over_time(report: Demand) -> str:
    """Look-ups and misses by the hour."""
    height, top, bottom = 230.0, 12.0, 200.0
    zone = zone_of(report.zone)
    across = TimeScale(_at(report.from_), _at(report.to), _LEFT, _WIDTH - _RIGHT, zone)
    marks = steps(max((hour.lookups for hour in report.hours), default=0))
    up = Scale(0, marks[-1], bottom, top)
    parts = time_axis(across, top=top, bottom=bottom)
    for mark in marks:
        parts.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=up(mark), y2=up(mark), class_="grid"))
        parts.append(text(figure(mark), x=_LEFT - 8, y=up(mark) + 4, text_anchor="end", class_="tick"))
    for name in ("lookups", "misses"):
        places = [(across(_at(hour.hour)), up(getattr(hour, name))) for hour in report.hours]
        if places:
            line = " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            area = f"M{places[0][0]:.1f} {bottom} L{line} L{places[-1][0]:.1f} {bottom} Z"
            parts.append(element("path", d=area, class_=f"area {name}"))
            parts.append(element("path", d=f"M{line}", class_=f"edge {name}"))
    for hour in report.hours[:: max(1, len(report.hours) // 400)]:
        shown = _at(hour.hour).astimezone(zone)
        said = f"{shown:%-d %b %H:%M}: {hour.lookups} look-ups, {hour.misses} misses"
        parts.append(
            element(
                "rect", tip(said), x=across(_at(hour.hour)) - 2, y=top, width=4, height=bottom - top, class_="touch"
            )
        )
    return drawing(_WIDTH, height, parts, label="Look-ups by the hour")


def demand_by_topic(report: Demand) -> str:
    """The topics that are asked for most."""
    rows = [
        (one.topic or "(others)", one.lookups, f"{one.lookups} look-ups, {one.misses} misses, {one.clients} clients")
        for one in report.topics[:12]
    ]
    return _bars(rows, label="Look-ups by topic", style="lookups")


def skew_histogram(report: Placement) -> str:
    """Topics by skew: 1 is even, 2 means that the fullest broker has twice its share."""
    rows = []
    for one in report.skew_histogram:
        name = f"{one.from_:g} and more" if one.to is None else f"{one.from_:g} to {one.to:g}"
        rows.append((name, one.topics, f"{one.topics} topics with a skew of {name}"))
    return _bars(rows, label="Topics by how unevenly their queues stand", style="lookups")


def _bars(rows: Sequence[tuple[str, int, str]], *, label: str, style: str) -> str:
    left, right, row = 190.0, 90.0, 24.0
    scale = Scale(0, max((amount for _, amount, _ in rows), default=0) or 1, left, _WIDTH - right)
    parts = []
    for number, (name, amount, told) in enumerate(rows):
        y = 4 + number * row
        shown = escape(name if len(name) <= 26 else f"{name[:25]}…") + tip(name)
        parts.append(element("text", shown, x=left - 10, y=y + 15, text_anchor="end", class_="name"))
        width = max(scale(amount) - left, 1.0 if amount else 0.0)
        parts.append(
            element("rect", tip(told), x=left, y=y + 3, width=width, height=row - 8, rx=2, class_=f"bar {style}")
        )
        parts.append(text(figure(amount), x=left + width + 8, y=y + 15, class_="value"))
    return drawing(_WIDTH, 8 + len(rows) * row, parts, label=label)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)
