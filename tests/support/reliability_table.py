"""Writes the figures of fuzz, attacks, chaos and kills as tables into docs/reliability.md.

Each table has a place of its own on the page and comes from the rows of one run: a suite without rows keeps its table.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

PAGE: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
SUITES: Final = ("fuzz", "attacks", "costs", "beside java", "all at once", "chaos", "kills")
_SENT: Final = ("requests", "frames", "refused", "connections", "closed", "connections_closed")
_SUMMED: Final = ("seconds", "faults", "look_ups", "unanswered", "writes", "broker_lives", "violations")

Row: TypeAlias = dict[str, Any]


def tables(rows: Iterable[Row]) -> dict[str, str]:
    """The table of each suite that has rows; runs of fuzz and chaos are summed, of an attack the last run counts."""
    by_suite = defaultdict[str, list[Row]](list)
    for row in rows:
        by_suite[row["suite"]].append(row)
    chaos = partial(_chaos, faults=by_suite["chaos faults"])
    makers: tuple[Callable[[list[Row]], str], ...]
    makers = (_fuzz, _attacks, _costs, _beside_java, _all_at_once, chaos, _kills)
    return {suite: make(by_suite[suite]) for suite, make in zip(SUITES, makers, strict=True) if by_suite[suite]}


def put(page: str, made: dict[str, str]) -> str:
    """The page with each table between its markers."""
    for suite, text in made.items():
        begin, end = f"<!-- {suite}: begin -->\n", f"<!-- {suite}: end -->"
        head, found, rest = page.partition(begin)
        _, also, tail = rest.partition(end)
        if not (found and also):
            raise SystemExit(f"{PAGE.name} has no place for the table of {suite}: it needs the lines {begin}{end}")
        page = f"{head}{begin}{text}\n{end}{tail}"
    return page


def _fuzz(rows: list[Row]) -> str:
    inputs, failures = _sums(rows, "inputs"), _sums(rows, "failures")
    lines = [f"| {what} | {inputs[what]:,} | {failures[what]} |" for what in sorted(inputs)]
    lines.append(f"| **in all** | **{sum(inputs.values()):,}** | **{sum(failures.values())}** |")
    return "\n".join(["| fuzzed | inputs | promises broken |", "|---|---|---|", *lines])


def _attacks(rows: list[Row]) -> str:
    head = "| attack | sent | limits hit | look-ups answered meanwhile | p99 | memory before, most, after |"
    last = {row["what"]: row for row in rows}
    lines = []
    for what, row in sorted(last.items()):
        sent = ", ".join(f"{row[key]:,} {key.replace('_', ' ')}" for key in _SENT if key in row)
        memory = f"{row['mib_before']}, {row['mib_peak']}, {row['mib_after']} MiB"
        seen = f"{row['limits_hit']:,} | all {row['look_ups']:,} | {row['p99_ms']} ms"
        lines.append(f"| {what} | {sent} | {seen} | {memory} |")
    return "\n".join([head, "|---|---|---|---|---|---|", *lines])


def _costs(rows: list[Row]) -> str:
    head = "| input | CPU | ceiling | memory | ceiling |"
    lines = []
    for what, row in sorted({row["what"]: row for row in rows}.items()):
        cpu = row.get("cpu_s", row.get("loop_cpu_s"))
        memory = f"{row['mib']} MiB | {row['mib_limit']} MiB" if "mib" in row else "not measured | "
        lines.append(f"| {what} | {cpu} s | {row['cpu_limit_s']} s | {memory} |")
    return "\n".join([head, "|---|---|---|---|---|", *lines])


def _beside_java(rows: list[Row]) -> str:
    head = "| request, 20,000 topics | CPU of Routebook | CPU of Java |"
    lines = [f"| {row['what']} | {row['routebook_ms']} ms | {row['java_ms']} ms |" for row in rows]
    return "\n".join([head, "|---|---|---|", *lines])


def _all_at_once(rows: list[Row]) -> str:
    row = rows[-1]
    lines = [
        f"| kinds, seconds, connections | {row['what']}, {row['seconds']:g}, {row['sent']:,} |",
        f"| look-ups answered meanwhile, p99 | all {row['look_ups']:,}, {row['p99_ms']} ms |",
        f"| CPU of the server | {row['cpu_s']} s |",
        f"| memory before, most | {row['mib_before']}, {row['mib_peak']} MiB |",
    ]
    return "\n".join(["| all attacks at once, 300 brokers | |", "|---|---|", *lines])


def _chaos(rows: list[Row], faults: list[Row]) -> str:
    total = {key: sum(row[key] for row in rows) for key in _SUMMED}
    injected = _sums(faults, "injected")
    lines = [
        f"| runs, seconds of faults | {len(rows)}, {total['seconds']:,} |",
        f"| faults injected | {total['faults']:,} of {len(injected)} kinds |",
        f"| brokers that came and went | {total['broker_lives']:,} |",
        f"| look-ups judged | {total['look_ups']:,} answered, {total['unanswered']:,} not |",
        f"| acknowledged writes looked for afterwards | {total['writes']:,} |",
        f"| **violations** of the four promises | **{total['violations']}** |",
    ]
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(injected.items()))
    return "\n".join(["| chaos | |", "|---|---|", *lines, "", f"Faults by kind: {kinds}."])


def _kills(rows: list[Row]) -> str:
    head = "| kill -9 | kills | in the middle of a write | acknowledged writes | lost |"
    columns = ("kills", "interrupted", "writes", "lost")
    sums = [_sums(rows, column) for column in columns]
    lines = [f"| {what} | " + " | ".join(f"{column[what]:,}" for column in sums) + " |" for what in sorted(sums[0])]
    return "\n".join([head, "|---|---|---|---|---|", *lines])


def _sums(rows: list[Row], key: str) -> dict[str, int]:
    sums = defaultdict[str, int](int)
    for row in rows:
        sums[row["what"]] += row[key]
    return sums


if __name__ == "__main__":
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    PAGE.write_text(put(PAGE.read_text(), tables(rows)))
