"""Formats numbers, durations, shares and times for people; used by the HTML page and the terminal."""

from datetime import datetime
from zoneinfo import ZoneInfo

_GRADES = ((0.99999, "a5"), (0.999, "a4"), (0.99, "a3"), (0.95, "a2"))


def number(value: float) -> str:
    """Three significant digits and a unit prefix: 1.2 k, 34 M."""
    for least, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= least:
            return f"{value / least:.3g} {letter}"
    return f"{value:.3g}"


def duration(seconds: float | None) -> str:
    """A duration in a suitable unit; empty for None."""
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


def percent(share: float | None) -> str:
    """A share with enough digits that only a share of 1 is shown as 100 %."""
    if share is None:
        return "–"
    return "100 %" if share >= 0.9999999 else f"{min(share * 100, 99.9999):.4g} %"


def grade(share: float | None) -> str:
    """The availability class, a5 (best) to a1; a0: not observed."""
    if share is None:
        return "a0"
    return next((name for least, name in _GRADES if share >= least), "a1")


def local_time(at: str | None, zone: ZoneInfo) -> str:
    """An ISO time in the time zone of the report; empty for None."""
    return "" if at is None else f"{datetime.fromisoformat(at).astimezone(zone):%Y-%m-%d %H:%M:%S}"


def shortened(text: str, limit: int) -> str:
    """The text, cut to `limit` characters with an ellipsis."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
