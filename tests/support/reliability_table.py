"""Writes the figures of fuzz, attacks and chaos as tables into docs/reliability.md."""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeAlias

PAGE: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN: Final = "<!-- figures: begin (made by `make reliability`) -->"
END: Final = "<!-- figures: end -->"
_SENT: Final = ("requests", "frames", "refused", "connections", "closed", "connections_closed")
_SUMMED: Final = ("seconds", "faults", "look_ups", "unanswered", "writes", "broker_lives", "violations")

Row: TypeAlias = dict[str, Any]


def tables(rows: Iterable[Row]) -> str:
    """All tables; runs of fuzz and chaos are summed, of an attack the last run counts."""
    by_suite = defaultdict[str, list[Row]](list)
    for row in rows:
        by_suite[row["suite"]].append(row)
    parts = []
    if by_suite["fuzz"]:
        parts.append(_fuzz(by_suite["fuzz"]))
    if by_suite["attacks"]:
        parts.append(_attacks(by_suite["attacks"]))
    if by_suite["chaos"]:
        parts.append(_chaos(by_suite["chaos"], by_suite["chaos faults"]))
    if by_suite["kills"]:
        parts.append(_kills(by_suite["kills"]))
    return "\n\n".join(parts)


def put(page: str, made: str) -> str:
    """The page with the tables between their markers."""
    head, found, rest = page.partition(BEGIN)
    _, also, tail = rest.partition(END)
    if not (found and also):
        raise SystemExit(f"{PAGE.name} has no place for the tables: it needs the lines {BEGIN} and {END}")
    return f"{head}{BEGIN}\n{made}\n{END}{tail}"


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
