"""Drawings as text: elements, scales and axes. Colours are classes, so that one style sheet serves light and dark."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from html import escape
from zoneinfo import ZoneInfo

_NICE_STEPS = (1, 2, 5, 10)
_STEPS_H = (1, 3, 6, 12, 24, 48, 24 * 7, 24 * 14, 24 * 30, 24 * 90)


def element(name: str, content: str = "", /, **attributes: object) -> str:
    """`class_` and `text_anchor` are spelled class and text-anchor. Content is markup: escape what others named."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def text(said: str, **attributes: object) -> str:
    """Words."""
    return element("text", escape(said), **attributes)


def tip(said: str) -> str:
    """What a browser shows when the pointer rests."""
    return f"<title>{escape(said)}</title>"


def drawing(width: float, height: float, parts: Sequence[str], *, label: str) -> str:
    """As wide as the page; `label` is for those who do not see it."""
    box = f"0 0 {_short(width)} {_short(height)}"
    return element("svg", "".join(parts), viewBox=box, role="img", aria_label=label, class_="chart")


class Scale:
    """From values to places, even or by powers of ten."""

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
    """From times to places, with marks at full hours or days of a zone."""

    def __init__(self, begin: datetime, end: datetime, left: float, right: float, zone: ZoneInfo) -> None:
        self._begin, self._end, self._left, self._right, self._zone = begin, end, left, right, zone

    def __call__(self, at: datetime) -> float:
        share = (at - self._begin) / max(self._end - self._begin, timedelta(seconds=1))
        return self._left + min(1.0, max(0.0, share)) * (self._right - self._left)

    def marks(self, most: int = 12) -> list[tuple[float, str]]:
        """Where lines stand, and what is written there."""
        hours = (self._end - self._begin) / timedelta(hours=1)
        step = next((one for one in _STEPS_H if hours / one <= most), _STEPS_H[-1])
        local = self._begin.astimezone(self._zone).replace(tzinfo=None)
        at = local.replace(hour=0, minute=0, second=0, microsecond=0)
        found = []
        while (moment := at.replace(tzinfo=self._zone)) <= self._end:
            if moment >= self._begin:
                shown = f"{at:%-d %b}" if step >= 24 or at.hour == 0 else f"{at:%H:%M}"
                found.append((self(moment), shown))
            at += timedelta(hours=step)
        return found


def time_axis(scale: TimeScale, *, top: float, bottom: float) -> list[str]:
    """Lines from top to bottom, with times under them."""
    parts = []
    for x, shown in scale.marks():
        parts.append(element("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
        parts.append(text(shown, x=x, y=bottom + 14, text_anchor="middle", class_="tick"))
    return parts


def steps(most: float, count: int = 4) -> list[float]:
    """Round values from 0 up to at least `most`."""
    if most <= 0:
        return [0.0, 1.0]
    raw = most / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(one * power for one in _NICE_STEPS if one * power >= raw)
    return [step * number for number in range(math.ceil(most / step) + 1)]


def figure(value: float) -> str:
    """A number for people: 1.2 k, 34 M."""
    for least, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= least:
            return f"{value / least:.3g} {letter}"
    return f"{value:.3g}"


def length(seconds: float | None) -> str:
    """A length of time for people."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.2g} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"


def _short(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
