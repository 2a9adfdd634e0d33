"""The trade-off curve: false alarms against the time to notice a dead broker, and the candidate to take."""

from typing import Final

from routebook.lake.reports.heartbeats import Curve, Point, Tradeoff
from routebook.lake.reports.html.svg import Scale, drawing, element, figure, length, text, tip

_WIDTH: Final = 1080.0
_HEIGHT: Final = 300.0
_LEFT: Final = 74.0
_RIGHT: Final = 260.0
_TOP: Final = 16.0
_BOTTOM: Final = 44.0
_FLOOR: Final = 1e-3  # what is less, or none at all, is drawn here
_MOST_CURVES: Final = 8
_SECONDS: Final = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)


def tradeoff_curve(report: Tradeoff) -> str:
    """Both axes by powers of ten; down and to the left is better."""
    curves = [one for one in report.curves if one.points][:_MOST_CURVES]
    points = [point for one in curves for point in one.points]
    times = [max(point.mean_detection_s, 0.1) for point in points]
    most = max((point.false_per_broker_day for point in points), default=1.0)
    x = Scale(min(times), max(times), _LEFT, _WIDTH - _RIGHT, log=True)
    y = Scale(_FLOOR, max(most * 1.5, _FLOOR * 10), _HEIGHT - _BOTTOM, _TOP, log=True)
    parts = _axes(x, y, low=min(times), high=max(times), most=most)
    for number, one in enumerate(curves):
        parts += _drawn(one, x, y, number)
    return drawing(_WIDTH, _HEIGHT, parts, label="False alarms against detection time for each candidate timeout")


def called(curve: Curve) -> str:
    """Whose curve it is."""
    return " · ".join(
        part for part in (curve.cluster or curve.ns, curve.detector, curve.ns if curve.cluster else None) if part
    )


def _axes(x: Scale, y: Scale, *, low: float, high: float, most: float) -> list[str]:
    parts = []
    for seconds in _SECONDS:
        if low <= seconds <= high:
            at = x(seconds)
            parts.append(element("line", x1=at, x2=at, y1=_TOP, y2=_HEIGHT - _BOTTOM, class_="grid"))
            parts.append(text(length(seconds), x=at, y=_HEIGHT - _BOTTOM + 16, text_anchor="middle", class_="tick"))
    power = _FLOOR
    while power <= most * 1.5:
        at = y(power)
        shown = f"≤ {figure(power)}" if power == _FLOOR else figure(power)
        parts.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=at, y2=at, class_="grid"))
        parts.append(text(shown, x=_LEFT - 8, y=at + 4, text_anchor="end", class_="tick"))
        power *= 10
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        text("mean time to notice a dead broker", x=middle, y=_HEIGHT - 8, text_anchor="middle", class_="axis")
    )
    turned = f"translate(14 {(_TOP + _HEIGHT - _BOTTOM) / 2:.0f}) rotate(-90)"
    parts.append(text("false alarms per broker and day", transform=turned, text_anchor="middle", class_="axis"))
    return parts


def _drawn(curve: Curve, x: Scale, y: Scale, number: int) -> list[str]:
    places = [
        (x(max(one.mean_detection_s, 0.1)), y(max(one.false_per_broker_day, _FLOOR)), one) for one in curve.points
    ]
    line = " ".join(f"{left:.1f},{top:.1f}" for left, top, _ in places)
    parts = [element("polyline", points=line, class_=f"curve s{number}")]
    for left, top, point in places:
        said = tip(_told(curve, point))
        if point.recommended:
            parts.append(element("circle", said, cx=left, cy=top, r=7, class_=f"chosen s{number}"))
        parts.append(element("circle", said, cx=left, cy=top, r=3, class_=f"dot s{number}"))
    key = _TOP + 12 + number * 22
    parts.append(element("rect", x=_WIDTH - _RIGHT + 24, y=key - 9, width=12, height=12, rx=3, class_=f"dot s{number}"))
    chosen = next((one for one in curve.points if one.recommended), None)
    advice = "" if chosen is None else f": {length(chosen.timeout_ms / 1000)}"
    parts.append(text(f"{called(curve)}{advice}", x=_WIDTH - _RIGHT + 42, y=key + 1, class_="key"))
    return parts


def _told(curve: Curve, point: Point) -> str:
    best = ", recommended" if point.recommended else ""
    alarms = figure(point.false_per_broker_day)
    return (
        f"{called(curve)}: timeout {length(point.timeout_ms / 1000)}{best}: {alarms} false alarms per broker and day, "
        f"noticed after {length(point.mean_detection_s)}"
    )
