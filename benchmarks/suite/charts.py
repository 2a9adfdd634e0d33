"""SVG charts for the benchmark pages, readable in light and dark colour schemes."""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

_COLOURS: Final = {"routebook": "#2f7ed8", "java": "#d86b2f", "rust": "#8a63c9", "limit": "#8c8c8c"}
_OTHERS: Final = ("#2f7ed8", "#d86b2f", "#3aa655", "#8a63c9")
_WIDTH: Final = 720
_TEXT: Final = 'font-family="system-ui, sans-serif" font-size="13" fill="#777"'


class Bars(NamedTuple):
    """One group of bars: value and spread by peer."""

    title: str
    unit: str
    values: Mapping[str, tuple[float, float]]


def bar_chart(groups: Sequence[Bars]) -> str:
    """Draw horizontal bars; each group has its own scale."""
    lines: list[str] = []
    y = 10
    for group in groups:
        lines.append(f'<text x="10" y="{y + 14}" {_TEXT} font-weight="bold">{escape(group.title)}</text>')
        y += 24
        maximum = max((value for value, _ in group.values.values()), default=1.0) or 1.0
        for peer, (value, spread) in group.values.items():
            width = max(1.0, 470 * value / maximum)
            label = f"{_figure(value)} {group.unit}" + (f" ± {spread:.0%}" if spread else "")
            lines += [
                f'<text x="90" y="{y + 13}" {_TEXT} text-anchor="end">{escape(peer)}</text>',
                f'<rect x="96" y="{y}" width="{width:.1f}" height="17" rx="2" fill="{_COLOURS.get(peer, "#999")}"/>',
                f'<text x="{102 + width:.1f}" y="{y + 13}" {_TEXT}>{escape(label)}</text>',
            ]
            y += 22
        y += 12
    return _svg(lines, y)


def curve_chart(title: str, x_name: str, unit: str, curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Draw curves with two logarithmic axes: a slope of one means proportional growth."""
    points = [point for curve in curves.values() for point in curve if point[0] > 0 and point[1] > 0]
    if not points:
        return _svg([], 40)
    left, right = _decades([x for x, _ in points])
    low, high = _decades([y for _, y in points])
    lines = [f'<text x="10" y="22" {_TEXT} font-weight="bold">{escape(title)} [{escape(unit)}]</text>']

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - left) / (right - left)
        up = (math.log10(y) - low) / (high - low)
        return 70 + 500 * across, 250 - 200 * up

    for decade in range(left, right + 1):
        x, _ = place(10.0**decade, 10.0**low)
        lines.append(f'<line x1="{x:.1f}" y1="50" x2="{x:.1f}" y2="250" stroke="#8884"/>')
        lines.append(f'<text x="{x:.1f}" y="268" {_TEXT} text-anchor="middle">{_figure(10.0**decade)}</text>')
    for decade in range(low, high + 1):
        _, y = place(10.0**left, 10.0**decade)
        lines.append(f'<line x1="70" y1="{y:.1f}" x2="570" y2="{y:.1f}" stroke="#8884"/>')
        lines.append(f'<text x="64" y="{y + 4:.1f}" {_TEXT} text-anchor="end">{_figure(10.0**decade)}</text>')
    lines.append(f'<text x="320" y="288" {_TEXT} text-anchor="middle">{escape(x_name)}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        colour = _OTHERS[number % len(_OTHERS)]
        places = [place(x, y) for x, y in sorted(curve) if x > 0 and y > 0]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        lines.append(f'<rect x="584" y="{54 + 22 * number}" width="10" height="10" fill="{colour}"/>')
        lines.append(f'<text x="600" y="{64 + 22 * number}" {_TEXT}>{escape(name)}</text>')
    return _svg(lines, 300)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _figure(value: float) -> str:
    if value >= 1_000_000:
        return f"{value / 1e6:.3g} M"
    if value >= 10_000:
        return f"{value / 1e3:.3g} k"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _svg(lines: Sequence[str], height: int) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img">'
    return "\n".join([head, *lines, "</svg>", ""])
