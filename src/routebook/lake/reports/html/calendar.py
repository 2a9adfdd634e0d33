"""The availability calendar: a row for each broker, a square for each day, coloured by how much of it was up."""

from datetime import date
from html import escape
from typing import Final

from routebook.lake.reports.availability import Availability, Broker, Cell
from routebook.lake.reports.html.svg import drawing, element, length, text, tip

_WIDTH: Final = 1080.0
_LEFT: Final = 190.0
_RIGHT: Final = 96.0
_ROW: Final = 20.0
_TOP: Final = 26.0
_MOST_ROWS: Final = 60
LEGEND: Final = (
    ("a5", "100 %"),
    ("a4", "≥ 99.9 %"),
    ("a3", "≥ 99 %"),
    ("a2", "≥ 95 %"),
    ("a1", "less"),
    ("a0", "not observed"),
)


def calendar(report: Availability) -> str:
    """Worst brokers first; those beyond the first are left to the table."""
    brokers = report.brokers[:_MOST_ROWS]
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


def grade(share: float | None) -> str:
    """The class of a square."""
    if share is None:
        return "a0"
    for least, name in ((0.99999, "a5"), (0.999, "a4"), (0.99, "a3"), (0.95, "a2")):
        if share >= least:
            return name
    return "a1"


def percent(share: float | None) -> str:
    """So many digits that what is not perfect does not look so."""
    if share is None:
        return "–"
    return "100 %" if share >= 0.9999999 else f"{min(share * 100, 99.9999):.4g} %"


def _row(broker: Broker, y: float, column: float, days: list[date]) -> list[str]:
    said = tip(f"{broker.cluster} / {broker.broker} at {broker.addr}")
    parts = [element("text", _name(broker) + said, x=_LEFT - 10, y=y + 13, text_anchor="end", class_="name")]
    for number, cell in enumerate(broker.cells):
        parts.append(
            element(
                "rect",
                tip(_told(broker, days[number], cell)),
                x=_LEFT + number * column + 1,
                y=y + 1,
                width=max(column - 2, 1.0),
                height=_ROW - 3,
                rx=2.5,
                class_=grade(None if cell is None else cell.a),
            )
        )
    shown = percent(broker.availability)
    return [*parts, text(shown, x=_WIDTH - _RIGHT + 10, y=y + 13, class_="value")]


def _name(broker: Broker) -> str:
    return escape(broker.broker if len(broker.broker) <= 26 else f"{broker.broker[:25]}…")


def _told(broker: Broker, day: date, cell: Cell | None) -> str:
    if cell is None or cell.a is None:
        return f"{broker.broker}, {day:%-d %B}: not observed"
    down = length(max(0.0, cell.seen - cell.up))
    outages = "no outage" if not cell.outages else f"{cell.outages} outage{'s' if cell.outages > 1 else ''}"
    return f"{broker.broker}, {day:%-d %B}: {percent(cell.a)}, {outages}" + (f", {down} down" if cell.a < 1 else "")
