"""Writes results into the pages: tables and charts between the markers of docs/benchmarks.md and docs/capacity.md."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from benchmarks.suite.charts import Bars, bar_chart, curve_chart
from benchmarks.suite.growth import CONNECTIONS
from benchmarks.suite.results import PEERS, Point, Results, Row

_SIGNS: Final = {">=": "≥", "<=": "≤"}
_CHARTS: Final = {
    "throughput": ("narrow-32", "narrow-256", "narrow-deep", "wide-32"),
    "cost": ("cpu-narrow-32", "latency-p99", "storm-p99", "register-first", "register-same", "register-changed"),
    "size": ("memory-idle", "memory-big", "start"),
}


def write_pages(results: Results, docs: Path) -> None:
    """Write all tables and charts."""
    charts = docs / "benchmarks"
    charts.mkdir(parents=True, exist_ok=True)
    rows = {row.key: row for row in results.rows}
    for name, keys in _CHARTS.items():
        (charts / f"{name}.svg").write_text(bar_chart([_bars(rows[key]) for key in keys if key in rows]))
    for name, text in _growth_charts(results.growth).items():
        (charts / f"{name}.svg").write_text(text)
    _fill(docs / "benchmarks.md", "figures", _figures(results))
    _fill(docs / "benchmarks.md", "growth", _growth(results.growth))
    _fill(docs / "capacity.md", "corners", _corners(results.growth))


def table(rows: Iterable[Row]) -> str:
    """Format medians, spread, and ratios with their goals."""
    lines = ["| figure | Routebook | Java | Rust | limit | to Java | to Rust | to the limit |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for row in rows:
        cells = [f"{row.title} ({row.unit})", *(_cell(row, peer) for peer in PEERS)]
        cells += [_ratio(row, peer) for peer in PEERS[1:]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _figures(results: Results) -> str:
    parts = [
        f"Measured {results.date}{' with `--quick`: for orientation only' if results.quick else ''}. "
        + "; ".join(f"{name}: {value}" for name, value in results.machine.items())
        + ".",
        "\n".join(f"- {name}: {version}" for name, version in results.versions.items()),
    ]
    parts += [f"Not measured: {name} ({why})." for name, why in results.skipped.items()]
    parts.append(table(results.rows))
    failures = {f"{peer}, {row.title}: {why}": None for row in results.rows for peer, why in row.failures.items()}
    if failures:
        parts.append("\n".join(["Failures:", "", *(f"- {failure}" for failure in failures)]))
    rows = {row.key for row in results.rows}
    parts += [f"![{name}](benchmarks/{name}.svg)" for name, keys in _CHARTS.items() if rows.intersection(keys)]
    return "\n\n".join(parts)


def _cell(row: Row, peer: str) -> str:
    middle = row.median(peer)
    if peer in row.failures:
        return "failed" if middle is None else f"{_number(middle)}, then failed"
    if middle is None:
        return ""
    spread = row.spread(peer)
    return _number(middle) + (f" ± {spread:.0%}" if spread else "")


def _ratio(row: Row, peer: str) -> str:
    ratio = row.ratio(peer)
    if ratio is None:
        return ""
    goal = next((goal for goal in row.goals if goal.peer == peer), None)
    text = f"{ratio:.3g}×"
    if goal is None:
        return text
    return (
        f"{'**' if goal.met(ratio) else ''}{text}{'**' if goal.met(ratio) else ''} ({_SIGNS[goal.kind]} {goal.ratio:g})"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _bars(row: Row) -> Bars:
    values = {peer: (row.median(peer) or 0.0, row.spread(peer)) for peer in PEERS if row.values.get(peer)}
    return Bars(row.title, row.unit, values)


def _growth_charts(points: Sequence[Point]) -> dict[str, str]:
    usual = [point for point in points if point.connections == CONNECTIONS]
    by_brokers = [point for point in usual if point.topics == 1_000]
    by_topics = [point for point in usual if point.brokers == 100]
    by_connections = [point for point in points if (point.brokers, point.topics) == (100, 1_000)]
    registering = {"first": "first_ms", "unchanged": "same_ms", "one changed": "changed_ms"}
    charts = {}
    if by_brokers:
        charts["growth-brokers"] = curve_chart(
            "a registration of 1,000 topics, by brokers that are registered",
            "brokers",
            "ms",
            {name: [(p.brokers, p.figures[key]) for p in by_brokers] for name, key in registering.items()},
        )
    if by_topics:
        charts["growth-topics"] = curve_chart(
            "a registration, by topics (100 brokers)",
            "topics",
            "ms",
            {name: [(p.topics, p.figures[key]) for p in by_topics] for name, key in registering.items()},
        )
        charts["growth-memory"] = curve_chart(
            "memory, by brokers × topics",
            "brokers × topics",
            "MiB",
            {"after": [(p.brokers * p.topics, p.figures["memory_mib"]) for p in usual]},
        )
    if by_connections:
        charts["growth-connections"] = curve_chart(
            "look-ups of 100-broker routes, by connections",
            "connections",
            "look-ups/s",
            {"look-ups": [(p.connections, p.figures["lookups_per_s"]) for p in by_connections]},
        )
    return charts


def _growth(points: Sequence[Point]) -> str:
    if not points:
        return "Not measured yet."
    lines = [
        (
            "| brokers | topics | connections | first (ms) | unchanged (ms) | one changed (ms) | look-ups/s | CPU (µs) "
            "| p99 (ms) | answer (KiB) | memory (MiB) |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for point in points:
        figures = point.figures
        names = ("first_ms", "same_ms", "changed_ms", "lookups_per_s", "lookup_cpu_us", "lookup_p99_ms", "reply_kib")
        cells = [_number(figures[name]) for name in (*names, "memory_mib")]
        lines.append(f"| {point.brokers:,} | {point.topics:,} | {point.connections:,} | {' | '.join(cells)} |")
    charts = [f"![{name}](benchmarks/{name}.svg)" for name in _growth_charts(points)]
    return "\n\n".join(["\n".join(lines), *charts])


def _corners(points: Sequence[Point]) -> str:
    corners = [point for point in points if point.connections == CONNECTIONS and point.brokers * point.topics >= 10**6]
    if not corners:
        return "Not measured yet."
    lines = [
        (
            "| brokers × topics | body of a registration (MiB) | all at once (s) | one changed (ms) | memory (MiB) "
            "| at the peak (MiB) | disk (MiB) |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for point in corners:
        figures = point.figures
        cells = [_number(figures["body_mib"]), _number(figures["first_ms"] * point.brokers / 1000)]
        cells += [_number(figures[name]) for name in ("changed_ms", "memory_mib", "peak_mib", "disk_mib")]
        lines.append(f"| {point.brokers:,} × {point.topics:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _fill(page: Path, name: str, text: str) -> None:
    """Replace the text between the page's markers of that name."""
    begin, end = f"<!-- {name}: made by benchmarks/run.py -->", f"<!-- end of {name} -->"
    whole = page.read_text()
    if begin not in whole or end not in whole:
        raise ValueError(f"{page} has no markers for {name}: add the lines {begin} and {end}")
    made = f"{begin}\n{text}\n{end}"
    page.write_text(re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: made, whole, flags=re.DOTALL))
