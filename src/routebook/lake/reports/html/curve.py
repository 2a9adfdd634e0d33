"""The trade-off chart: false alarms against detection time for each candidate timeout."""

from typing import Final

from markupsafe import Markup

from routebook.lake.reports.formatting import duration, number
from routebook.lake.reports.heartbeats import Curve, Point, Tradeoff
from routebook.lake.reports.html.svg import Scale, drawing, element, grid_line, text, tooltip

_WIDTH: Final = 1080.0
_HEIGHT: Final = 300.0
_LEFT: Final = 74.0
_RIGHT: Final = 260.0
_TOP: Final = 16.0
_BOTTOM: Final = 44.0
_FLOOR: Final = 1e-3  # smaller values, zero included, are drawn here
_MAX_CURVES: Final = 8
_SECONDS: Final = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)


def tradeoff_curve(report: Tradeoff) -> Markup:
    """Both axes are logarithmic; down and left is better."""
    curves = [one for one in report.curves if one.points][:_MAX_CURVES]
    points = [point for one in curves for point in one.points]
    times = [max(point.mean_detection_s, 0.1) for point in points]
    most = max((point.false_per_broker_day for point in points), default=1.0)
    x = Scale(min(times), max(times), _LEFT, _WIDTH - _RIGHT, log=True)
    y = Scale(_FLOOR, max(most * 1.5, _FLOOR * 10), _HEIGHT - _BOTTOM, _TOP, log=True)
    parts = _axes(x, y, low=min(times), high=max(times), most=most)
    for index, one in enumerate(curves):
        parts += _curve(one, x, y, index)
    return drawing(_WIDTH, _HEIGHT, parts, label="False alarms against detection time for each candidate timeout")


def _name(curve: Curve) -> str:
    return " · ".join(
        part for part in (curve.cluster or curve.ns, curve.detector, curve.ns if curve.cluster else None) if part
    )


def _axes(x: Scale, y: Scale, *, low: float, high: float, most: float) -> list[Markup]:
    parts = []
    for seconds in _SECONDS:
        if low <= seconds <= high:
            at = x(seconds)
            parts.append(element("line", x1=at, x2=at, y1=_TOP, y2=_HEIGHT - _BOTTOM, class_="grid"))
            parts.append(text(duration(seconds), x=at, y=_HEIGHT - _BOTTOM + 16, text_anchor="middle", class_="tick"))
    power = _FLOOR
    while power <= most * 1.5:
        label = f"≤ {number(power)}" if power == _FLOOR else number(power)
        parts += grid_line(label, left=_LEFT, right=_WIDTH - _RIGHT, y=y(power))
        power *= 10
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        text("mean time to detect a dead broker", x=middle, y=_HEIGHT - 8, text_anchor="middle", class_="axis")
    )
    turned = f"translate(14 {(_TOP + _HEIGHT - _BOTTOM) / 2:.0f}) rotate(-90)"
    parts.append(text("false alarms per broker and day", transform=turned, text_anchor="middle", class_="axis"))
    return parts


def _curve(curve: Curve, x: Scale, y: Scale, index: int) -> list[Markup]:
    points = [
        (x(max(one.mean_detection_s, 0.1)), y(max(one.false_per_broker_day, _FLOOR)), one) for one in curve.points
    ]
    line = " ".join(f"{left:.1f},{top:.1f}" for left, top, _ in points)
    parts = [element("polyline", points=line, class_=f"curve s{index}")]
    for left, top, point in points:
        tip = tooltip(_description(curve, point))
        if point.recommended:
            parts.append(element("circle", tip, cx=left, cy=top, r=7, class_=f"chosen s{index}"))
        parts.append(element("circle", tip, cx=left, cy=top, r=3, class_=f"dot s{index}"))
    key = _TOP + 12 + index * 22
    parts.append(element("rect", x=_WIDTH - _RIGHT + 24, y=key - 9, width=12, height=12, rx=3, class_=f"dot s{index}"))
    chosen = next((one for one in curve.points if one.recommended), None)
    advice = "" if chosen is None else f": {duration(chosen.timeout_ms / 1000)}"
    parts.append(text(f"{_name(curve)}{advice}", x=_WIDTH - _RIGHT + 42, y=key + 1, class_="key"))
    return parts


def _description(curve: Curve, point: Point) -> str:
    recommended = ", recommended" if point.recommended else ""
    alarms = number(point.false_per_broker_day)
    return (
        f"{_name(curve)}: timeout {duration(point.timeout_ms / 1000)}{recommended}: {alarms} false alarms per broker "
        f"and day, detected after {duration(point.mean_detection_s)}"
    )
