"""`routebook lake query|tables|report`: read a lake, without a JVM."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import msgspec
import typer

from routebook.cli.output import EXIT_FINE, EXIT_NO, EXIT_USAGE, complain, print_json, print_table, say
from routebook.errors import UsageError
from routebook.lake.errors import QueryError
from routebook.server.state.home import default_home

if TYPE_CHECKING:
    from routebook.lake.read.query import Asked
    from routebook.lake.read.reader import Lake

_MOST_SHOWN = 1000
_MEMORY_MB = 2048

LakeFolder = Annotated[
    Path | None, typer.Option("--lake", metavar="DIR", help="the lake's folder [lake, in the server's home]")
]
Home = Annotated[
    Path | None, typer.Option("--home", metavar="DIR", help="the server's home [ROUTEBOOK_HOME, or ~/.routebook]")
]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME|BUILD", help="the tables as they were published at that time")
]
Json = Annotated[bool, typer.Option("--json", help="for machines")]


def add_reading(app: typer.Typer) -> None:
    """The commands that read, as part of `routebook lake`."""
    app.command("query")(query_command)
    app.command("tables")(tables_command)
    app.command("report")(report_command)


def query_command(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="one question; - reads it from stdin")],
    lake: LakeFolder = None,
    home: Home = None,
    as_of: AsOf = None,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="comma-separated, with a line of names")] = False,
) -> int:
    """Ask the tables in SQL (DuckDB's). A list of row objects with --json."""
    if as_json and as_csv:
        raise UsageError("--json and --csv: give one of them")
    text = sys.stdin.read() if sql == "-" else sql
    opened = _open(lake, home)
    try:
        with opened.asked(text, build=opened.build(as_of)) as asked:
            if as_json:
                _write_json(asked, sys.stdout)
            elif as_csv:
                _write_csv(asked, sys.stdout)
            else:
                _show(asked)
    except QueryError as error:
        first, *rest = error.shown().splitlines()
        complain(first)
        for line in rest:
            print(line, file=sys.stderr)
        return EXIT_USAGE
    return EXIT_FINE


def tables_command(
    table: Annotated[str | None, typer.Argument(metavar="TABLE", help="tell its columns")] = None,
    lake: LakeFolder = None,
    home: Home = None,
    as_of: AsOf = None,
    as_json: Json = False,
) -> int:
    """Tell which tables there are, or the columns of one."""
    found = [one for one in _open(lake, home).tables(as_of) if table is None or table in {one.path, _short(one.path)}]
    if not found:
        complain(f"{table}: there is no such table; `routebook lake tables` tells all")
        return EXIT_NO
    if as_json:
        print_json([{**one._asdict(), "columns": [column._asdict() for column in one.columns]} for one in found])
    elif table is not None:
        print_table(("COLUMN", "TYPE"), found[0].columns, title=f"{found[0].path}: {found[0].doc}")
    else:
        order = ("gold", "silver", "bronze", "meta")
        found.sort(key=lambda one: (order.index(one.path.partition(".")[0]), one.path))
        print_table(
            ("TABLE", "ROWS", "KB", "WHAT"), [(one.path, one.rows, one.bytes // 1024, one.doc) for one in found]
        )
    return EXIT_FINE


def report_command(
    only: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="some of the reports [all]")] = None,
    lake: LakeFolder = None,
    home: Home = None,
    days: Annotated[int, typer.Option("--days", min=1, max=3660, metavar="N", help="of the last days")] = 30,
    zone: Annotated[
        str, typer.Option("--time-zone", metavar="ZONE", help="as Europe/Berlin, for days and times")
    ] = "UTC",
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="write one HTML page with charts")] = None,
    as_of: AsOf = None,
    as_json: Json = False,
) -> int:
    """Tell how brokers and NameServers fared: availability, outages, agreement, timeouts, topics, changes."""
    from routebook.lake.reports import all_reports, make_report

    opened = _open(lake, home)
    if html is not None:
        if only:
            raise UsageError("--html writes all reports: leave out their names")
        return _write_html(opened, html, days=days, zone=zone, as_of=as_of)
    if only:
        reports = {name: make_report(opened, name, days=days, zone=zone, as_of=as_of) for name in only}
    else:
        reports = all_reports(opened, days=days, zone=zone, as_of=as_of)
    if as_json:
        print_json(reports)
        return EXIT_FINE
    from routebook.cli.lake_report import show_reports

    show_reports(reports)
    return EXIT_FINE


def _open(lake: Path | None, home: Path | None) -> "Lake":
    from routebook.lake.read.open import open_lake

    folder = lake if lake is not None else (home or default_home(os.environ)) / "lake"
    return open_lake(folder.expanduser(), memory_mb=_MEMORY_MB)


def _short(path: str) -> str:
    return path.rpartition(".")[2]


def _write_html(opened: "Lake", file: Path, *, days: int, zone: str, as_of: str | None) -> int:
    from routebook.lake.reports import all_reports
    from routebook.lake.reports.html.page import page

    text = page(all_reports(opened, days=days, zone=zone, as_of=as_of))
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--html {file}: {error.strerror}") from None
    say(f"{file}: {len(text.encode()) // 1024} KB; open it in a browser, or send it to somebody")
    return EXIT_FINE


def _write_json(asked: "Asked", out: TextIO) -> None:
    """One document, written as rows come: a row a line."""
    names = [column.name for column in asked.columns]
    before = "["
    for batch in asked.batches():
        for row in batch:
            out.write(before + msgspec.json.encode(dict(zip(names, row, strict=True))).decode())
            before = ",\n"
    out.write("[]\n" if before == "[" else "]\n")


def _write_csv(asked: "Asked", out: TextIO) -> None:
    import csv

    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in asked.columns])
    for batch in asked.batches():
        writer.writerows([_cell(value) for value in row] for row in batch)


def _show(asked: "Asked") -> None:
    rows: list[tuple[Any, ...]] = []
    for batch in asked.batches():
        rows += batch
        if len(rows) > _MOST_SHOWN:
            break
    print_table([column.name for column in asked.columns], _cells(rows[:_MOST_SHOWN]))
    if len(rows) > _MOST_SHOWN:
        complain(f"these are the first {_MOST_SHOWN} rows; --json and --csv give all of them")


def _cells(rows: Iterable[Sequence[Any]]) -> list[list[str]]:
    return [[_cell(value) for value in row] for row in rows]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
