"""SVG building blocks: elements, scales and axes. Colours are CSS classes, so that one style sheet has both themes."""

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from markupsafe import Markup

from routebook.lake.reports.formatting import shortened

MAX_NAME = 26  # characters of a row label
_NICE_STEPS = (1, 2, 5, 10)
_STEPS_H = (1, 3, 6, 12, 24, 48, 24 * 7, 24 * 14, 24 * 30, 24 * 90)


def element(name: str, *content: str, **attributes: object) -> Markup:
    """An element. Content and attributes are escaped unless they are Markup; `text_anchor` becomes `text-anchor`."""
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _short(value))
        for key, value in attributes.items()
        if value is not None
    )
    if not content:
        return Markup("<{}{}/>").format(name, written)
    return Markup("<{0}{1}>{2}</{0}>").format(name, written, Markup("").join(content))


def text(content: str, **attributes: object) -> Markup:
    return element("text", content, **attributes)


def tooltip(content: str) -> Markup:
    return element("title", content)


def row_label(name: str, *, x: float, y: float, tip: str | None = None) -> Markup:
    """A name left of a row, shortened, with a tooltip."""
    label = shortened(name, MAX_NAME)
    return element("text", label, tooltip(tip or name), x=x, y=y, text_anchor="end", class_="name")


def drawing(width: float, height: float, parts: Iterable[str], *, label: str) -> Markup:
    """A chart as wide as the page; `label` is the text for screen readers."""
    box = f"0 0 {_short(width)} {_short(height)}"
    return element("svg", *parts, viewBox=box, role="img", aria_label=label, class_="chart")


class Scale:
    """Maps values to positions, linearly or logarithmically."""

    def __init__(self, low: float, high: float, begin: float, end: float, *, log: bool = False) -> None:
        self._log = log
        self.low, self.high = (math.log10(low), math.log10(high)) if log else (low, high)
        if self.high <= self.low:
            self.high = self.low + 1
        self._begin, self._end = begin, end

    def __call__(self, value: float) -> float:
        at = math.log10(value) if self._log else value
        share = (at - self.low) / (self.high - self.low)
        return self._begin + min(1.0, max(0.0, share)) * (self._end - self._begin)


class TimeScale:
    """Maps times to positions, with ticks at full hours or days of a time zone."""

    def __init__(self, begin: datetime, end: datetime, left: float, right: float, zone: ZoneInfo) -> None:
        self._begin, self._end, self._left, self._right, self._zone = begin, end, left, right, zone

    def __call__(self, at: datetime) -> float:
        share = (at - self._begin) / max(self._end - self._begin, timedelta(seconds=1))
        return self._left + min(1.0, max(0.0, share)) * (self._right - self._left)

    def ticks(self, max_ticks: int = 12) -> list[tuple[float, str]]:
        """Position and label of each tick."""
        hours = (self._end - self._begin) / timedelta(hours=1)
        step = next((one for one in _STEPS_H if hours / one <= max_ticks), _STEPS_H[-1])
        local = self._begin.astimezone(self._zone).replace(tzinfo=None)
        at = local.replace(hour=0, minute=0, second=0, microsecond=0)
        found = []
        while (moment := at.replace(tzinfo=self._zone)) <= self._end:
            if moment >= self._begin:
                label = f"{at:%-d %b}" if step >= 24 or at.hour == 0 else f"{at:%H:%M}"
                found.append((self(moment), label))
            at += timedelta(hours=step)
        return found


def time_axis(scale: TimeScale, *, top: float, bottom: float) -> list[Markup]:
    """Vertical grid lines with times below."""
    parts = []
    for x, label in scale.ticks():
        parts.append(element("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
        parts.append(text(label, x=x, y=bottom + 14, text_anchor="middle", class_="tick"))
    return parts


def grid_line(label: str, *, left: float, right: float, y: float) -> list[Markup]:
    """A horizontal grid line with a label on its left."""
    return [
        element("line", x1=left, x2=right, y1=y, y2=y, class_="grid"),
        text(label, x=left - 8, y=y + 4, text_anchor="end", class_="tick"),
    ]


def steps(maximum: float, count: int = 4) -> list[float]:
    """Round values from 0 to at least `maximum`."""
    if maximum <= 0:
        return [0.0, 1.0]
    raw = maximum / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(one * power for one in _NICE_STEPS if one * power >= raw)
    return [step * index for index in range(math.ceil(maximum / step) + 1)]


def _short(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
