"""Writes the results of third-party programs from a report into the table of docs/compatibility.md."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[3] / "docs" / "compatibility.md"
BEGIN: Final = "<!-- programs: begin (made by `make interop`) -->"
END: Final = "<!-- programs: end -->"


def table(rows: list[list[str]], day: str, *, former: str = "") -> str:
    """The rows by program. A scenario that did not run keeps its former row and date."""
    lines = ["| program | version | scenario | result | last run |", "|---|---|---|---|---|"]
    for row in sorted(rows):
        cells = [cell.replace("|", "/") for cell in row]
        ran = [line for line in former.splitlines() if line.startswith(f"| {' | '.join(cells[:3])} |")]
        lines.append(ran[0] if ran and cells[3].startswith("not run") else f"| {' | '.join(cells)} | {day} |")
    return "\n".join(lines)


def put(page: str, made: str) -> str:
    """The page with the table between its markers."""
    head, found, rest = page.partition(BEGIN)
    _, also, tail = rest.partition(END)
    if not (found and also):
        raise SystemExit(f"{PAGE.name} has no place for the table: it needs the lines {BEGIN} and {END}")
    return f"{head}{BEGIN}\n{made}\n{END}{tail}"


if __name__ == "__main__":
    rows = json.loads(Path(sys.argv[1]).read_text())
    page = PAGE.read_text()
    PAGE.write_text(put(page, table(rows, datetime.now(UTC).date().isoformat(), former=page)))
