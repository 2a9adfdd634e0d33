"""The availability calendar: one row per broker, one square per day, coloured by availability."""

from datetime import date
from typing import Final

from markupsafe import Markup

from routebook.lake.reports.availability import Availability, Broker, Cell
from routebook.lake.reports.formatting import duration, grade, percent
from routebook.lake.reports.html.svg import drawing, element, row_label, text, tooltip

_WIDTH: Final = 1080.0
_LEFT: Final = 190.0
_RIGHT: Final = 96.0
_ROW: Final = 20.0
_TOP: Final = 26.0
_MAX_ROWS: Final = 60
LEGEND: Final = (
    ("a5", "100 %"),
    ("a4", "≥ 99.9 %"),
    ("a3", "≥ 99 %"),
    ("a2", "≥ 95 %"),
    ("a1", "less"),
    ("a0", "not observed"),
)


def calendar(report: Availability) -> Markup:
    """The brokers with the lowest availability; the table below the chart has all of them."""
    brokers = report.brokers[:_MAX_ROWS]
    days = [date.fromisoformat(day) for day in report.days]
    column = (_WIDTH - _LEFT - _RIGHT) / max(len(days), 1)
    height = _TOP + len(brokers) * _ROW + 8
    parts = []
    every = max(1, -(-len(days) // 16))
    for number, day in enumerate(days):
        if number % every == 0:
            x = _LEFT + number * column + column / 2
            parts.append(text(f"{day:%-d %b}", x=x, y=_TOP - 10, text_anchor="middle", class_="tick"))
    for row, broker in enumerate(brokers):
        parts += _row(broker, _TOP + row * _ROW, column, days)
    return drawing(_WIDTH, height, parts, label="Availability of each broker on each day")


def _row(broker: Broker, y: float, column: float, days: list[date]) -> list[Markup]:
    tip = f"{broker.cluster} / {broker.broker} at {broker.addr}"
    parts = [row_label(broker.broker, x=_LEFT - 10, y=y + 13, tip=tip)]
    for number, cell in enumerate(broker.cells):
        parts.append(
            element(
                "rect",
                tooltip(_description(broker, days[number], cell)),
                x=_LEFT + number * column + 1,
                y=y + 1,
                width=max(column - 2, 1.0),
                height=_ROW - 3,
                rx=2.5,
                class_=grade(None if cell is None else cell.a),
            )
        )
    return [*parts, text(percent(broker.availability), x=_WIDTH - _RIGHT + 10, y=y + 13, class_="value")]


def _description(broker: Broker, day: date, cell: Cell | None) -> str:
    if cell is None or cell.a is None:
        return f"{broker.broker}, {day:%-d %B}: not observed"
    down = duration(max(0.0, cell.seen - cell.up))
    outages = "no outage" if not cell.outages else f"{cell.outages} outage{'s' if cell.outages > 1 else ''}"
    return f"{broker.broker}, {day:%-d %B}: {percent(cell.a)}, {outages}" + (f", {down} down" if cell.a < 1 else "")
