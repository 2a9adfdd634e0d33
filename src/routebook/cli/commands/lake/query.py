"""`routebook lake query`: runs an SQL query over the tables with DuckDB."""

import sys
from typing import TYPE_CHECKING, Any, Final, TextIO

import msgspec

from routebook.cli.framework import argument, command, flag
from routebook.cli.lake.options import as_of_option, location_options, open_for_reading
from routebook.cli.output import EXIT_OK, EXIT_USAGE, print_error, print_table
from routebook.errors import UsageError
from routebook.lake.errors import QueryError

if TYPE_CHECKING:
    from routebook.lake.read.query import Cursor

_MAX_ROWS: Final = 1000


@command("query")
@argument("sql", metavar="SQL", help="One query in DuckDB's dialect; - reads it from stdin.")
@location_options
@as_of_option
@flag("--json", "as_json", help="Print a list of row objects.")
@flag("--csv", "as_csv", help="Print comma-separated values with a header line.")
def query(*, sql: str, lake: str, as_of: str | None, as_json: bool, as_csv: bool) -> int:
    """Run an SQL query over the tables."""
    if as_json and as_csv:
        raise UsageError("--json and --csv cannot be combined")
    text = sys.stdin.read() if sql == "-" else sql
    opened = open_for_reading(lake)
    try:
        with opened.cursor(text, build=opened.build(as_of)) as cursor:
            if as_json:
                _write_json(cursor, sys.stdout)
            elif as_csv:
                _write_csv(cursor, sys.stdout)
            else:
                _show(cursor)
    except QueryError as error:
        first, *rest = error.shown().splitlines()
        print_error(first)
        for line in rest:
            print(line, file=sys.stderr)
        return EXIT_USAGE
    return EXIT_OK


def _write_json(cursor: "Cursor", out: TextIO) -> None:
    """Write one JSON document row by row, without collecting the rows."""
    names = [column.name for column in cursor.columns]
    before = "["
    for batch in cursor.batches():
        for row in batch:
            out.write(before + msgspec.json.encode(dict(zip(names, row, strict=True))).decode())
            before = ",\n"
    out.write("[]\n" if before == "[" else "]\n")


def _write_csv(cursor: "Cursor", out: TextIO) -> None:
    import csv

    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in cursor.columns])
    for batch in cursor.batches():
        writer.writerows([_cell(value) for value in row] for row in batch)


def _show(cursor: "Cursor") -> None:
    rows: list[tuple[Any, ...]] = []
    for batch in cursor.batches():
        rows += batch
        if len(rows) > _MAX_ROWS:
            break
    print_table(
        [column.name for column in cursor.columns], [[_cell(value) for value in row] for row in rows[:_MAX_ROWS]]
    )
    if len(rows) > _MAX_ROWS:
        print_error(f"only the first {_MAX_ROWS} rows are shown; --json and --csv print all rows")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
