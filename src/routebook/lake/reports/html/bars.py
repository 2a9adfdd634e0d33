"""Charts of amounts: look-ups over time, look-ups by topic, topics by skew."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from markupsafe import Markup

from routebook.lake.reports.formatting import number
from routebook.lake.reports.html.svg import (
    Scale,
    TimeScale,
    drawing,
    element,
    grid_line,
    row_label,
    steps,
    text,
    time_axis,
    tooltip,
)
from routebook.lake.reports.scope import zone_of
from routebook.lake.reports.topics import Demand, Placement

_WIDTH: Final = 1080.0
_LEFT: Final = 74.0
_RIGHT: Final = 20.0
_MAX_TOPICS: Final = 12
_MAX_TOOLTIPS: Final = 400


def demand_over_time(report: Demand) -> Markup:
    """Look-ups and no-route look-ups per hour."""
    height, top, bottom = 230.0, 12.0, 200.0
    zone = zone_of(report.zone)
    x = TimeScale(_time(report.from_), _time(report.to), _LEFT, _WIDTH - _RIGHT, zone)
    marks = steps(max((hour.lookups for hour in report.hours), default=0))
    y = Scale(0, marks[-1], bottom, top)
    parts = time_axis(x, top=top, bottom=bottom)
    for mark in marks:
        parts += grid_line(number(mark), left=_LEFT, right=_WIDTH - _RIGHT, y=y(mark))
    for name in ("lookups", "misses"):
        points = [(x(_time(hour.hour)), y(getattr(hour, name))) for hour in report.hours]
        if points:
            line = " L".join(f"{left:.1f} {up:.1f}" for left, up in points)
            area = f"M{points[0][0]:.1f} {bottom} L{line} L{points[-1][0]:.1f} {bottom} Z"
            parts.append(element("path", d=area, class_=f"area {name}"))
            parts.append(element("path", d=f"M{line}", class_=f"edge {name}"))
    for hour in report.hours[:: max(1, len(report.hours) // _MAX_TOOLTIPS)]:
        local = _time(hour.hour).astimezone(zone)
        tip = tooltip(f"{local:%-d %b %H:%M}: {hour.lookups} look-ups, {hour.misses} without a route")
        left = x(_time(hour.hour)) - 2
        parts.append(element("rect", tip, x=left, y=top, width=4, height=bottom - top, class_="touch"))
    return drawing(_WIDTH, height, parts, label="Look-ups per hour")


def demand_by_topic(report: Demand) -> Markup:
    """The topics with the most look-ups."""
    rows = [
        (
            one.topic or "(others)",
            one.lookups,
            f"{one.lookups} look-ups, {one.misses} without a route, {one.clients} clients",
        )
        for one in report.topics[:_MAX_TOPICS]
    ]
    return _bars(rows, label="Look-ups by topic")


def skew_histogram(report: Placement) -> Markup:
    """Topics by skew. A skew of 1 is even; with 2, one broker has twice its share of the queues."""
    rows = []
    for one in report.skew_histogram:
        name = f"{one.from_:g} and more" if one.to is None else f"{one.from_:g} to {one.to:g}"
        rows.append((name, one.topics, f"{one.topics} topics with a skew of {name}"))
    return _bars(rows, label="Topics by skew of their queues")


def _bars(rows: Sequence[tuple[str, int, str]], *, label: str) -> Markup:
    left, right, row = 190.0, 90.0, 24.0
    scale = Scale(0, max((amount for _, amount, _ in rows), default=0) or 1, left, _WIDTH - right)
    parts = []
    for index, (name, amount, description) in enumerate(rows):
        y = 4 + index * row
        width = max(scale(amount) - left, 1.0 if amount else 0.0)
        parts += [
            row_label(name, x=left - 10, y=y + 15),
            element(
                "rect", tooltip(description), x=left, y=y + 3, width=width, height=row - 8, rx=2, class_="bar lookups"
            ),
            text(number(amount), x=left + width + 8, y=y + 15, class_="value"),
        ]
    return drawing(_WIDTH, 8 + len(rows) * row, parts, label=label)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
