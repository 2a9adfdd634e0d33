"""Writes the results of third-party programs from a report into the table of docs/compatibility.md.

With `--part`, the report is of a part of the tests: rows of other scenarios stay.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[3] / "docs" / "compatibility.md"
BEGIN: Final = "<!-- programs: begin (made by `make interop`) -->"
END: Final = "<!-- programs: end -->"


def table(rows: list[list[str]], day: str, *, former: str = "", part: bool = False) -> str:
    """The rows by program. A scenario that did not run keeps its former row and date."""
    if part:
        known = {tuple(row[:3]) for row in rows}
        old = [line.strip("| ").split(" | ") for line in _between(former).splitlines()[2:]]
        rows = [*rows, *([*row[:3], "not run"] for row in old if tuple(row[:3]) not in known)]
    lines = ["| program | version | scenario | result | last run |", "|---|---|---|---|---|"]
    for row in sorted(rows):
        cells = [cell.replace("|", "/") for cell in row]
        ran = [line for line in former.splitlines() if line.startswith(f"| {' | '.join(cells[:3])} |")]
        lines.append(ran[0] if ran and cells[3].startswith("not run") else f"| {' | '.join(cells)} | {day} |")
    return "\n".join(lines)


def _between(page: str) -> str:
    return page.partition(BEGIN)[2].partition(END)[0].strip()


def put(page: str, made: str) -> str:
    """The page with the table between its markers."""
    head, found, rest = page.partition(BEGIN)
    _, also, tail = rest.partition(END)
    if not (found and also):
        raise SystemExit(f"{PAGE.name} has no place for the table: it needs the lines {BEGIN} and {END}")
    return f"{head}{BEGIN}\n{made}\n{END}{tail}"


if __name__ == "__main__":
    *options, report = sys.argv[1:]
    rows = json.loads(Path(report).read_text())
    page, today = PAGE.read_text(), datetime.now(UTC).date().isoformat()
    PAGE.write_text(put(page, table(rows, today, former=page, part="--part" in options)))
