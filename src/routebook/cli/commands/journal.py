"""`routebook journal tail|verify|export|stats`: look at a journal folder, also while a server writes it."""

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, BinaryIO, NoReturn

import msgspec
import typer

from routebook.cli.times import parse_time
from routebook.errors import UsageError
from routebook.journal.files import FolderFiles
from routebook.journal.read.describe import describe_damage, describe_event, describe_hole
from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Hole, Item, Line, TimeRange, follow, newest, read
from routebook.journal.read.select import Selection
from routebook.journal.read.verify import Report, verify
from routebook.journal.record import KINDS
from routebook.server.observe.log import escape
from routebook.server.state.home import default_home
from routebook.times import format_time

_POLL_S = 0.2
_EXIT_NO = 1
_EXIT_USAGE = 2

app = typer.Typer(
    name="journal",
    help="Look at what a NameServer remembers.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Home = Annotated[
    Path | None, typer.Option("--home", metavar="DIR", help="the server's home [ROUTEBOOK_HOME, or ~/.routebook]")
]
Folder = Annotated[Path | None, typer.Option("--dir", metavar="DIR", help="a journal folder, wherever it is")]
Json = Annotated[bool, typer.Option("--json", help="for machines")]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help="of this kind; may be repeated")]
Brokers = Annotated[list[str] | None, typer.Option("--broker", help="about this broker, by name or address")]
Topics = Annotated[list[str] | None, typer.Option("--topic", help="about this topic")]


@app.command("tail")
def tail_command(
    home: Home = None,
    folder: Folder = None,
    count: Annotated[int, typer.Option("-n", min=0, help="how many of the newest records")] = 20,
    keep_on: Annotated[bool, typer.Option("-f", "--follow", help="then show what comes")] = False,
    kind: Kinds = None,
    broker: Brokers = None,
    topic: Topics = None,
    as_json: Json = False,
) -> None:
    """Show the newest records."""
    files = _files(home, folder)
    selection = _selection(kind, broker, topic)
    lines = newest(files, count, wanted=selection.fits) if count else []
    for line in lines:
        _show(line, as_json=as_json)
    if not keep_on:
        return
    beyond = newest(files, 1, wanted=lambda _: True)
    after = max((line.record.seq for line in (*lines, *beyond)), default=0)
    shown = lines[-1].record.seq if lines else after
    try:
        for item in follow(files, from_seq=min(shown, after) + 1, wait=_wait):
            if not isinstance(item, Line):
                _complain(item)
            elif selection.fits(item.record):
                _show(item, as_json=as_json)
    except KeyboardInterrupt:
        return


@app.command("verify")
def verify_command(home: Home = None, folder: Folder = None, as_json: Json = False) -> None:
    """Read all of it; exit code 1 if records are damaged or missing."""
    report = verify(_files(home, folder))
    if as_json:
        print(msgspec.json.encode(report).decode())
    else:
        _print_verdict(report)
    if not report.whole:
        raise typer.Exit(_EXIT_NO)


@app.command("export")
def export_command(
    home: Home = None,
    folder: Folder = None,
    from_time: Annotated[str | None, typer.Option("--from", metavar="TIME", help="ISO 8601 (UTC), or ms")] = None,
    to_time: Annotated[str | None, typer.Option("--to", metavar="TIME", help="up to this time, included")] = None,
    kind: Kinds = None,
    broker: Brokers = None,
    topic: Topics = None,
    form: Annotated[str, typer.Option("--format", metavar="jsonl", help="the lines as they are")] = "jsonl",
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="instead of stdout")] = None,
) -> None:
    """Write the records of a stretch of time; exit code 1 if some of it is damaged or missing."""
    files = _files(home, folder)
    if form != "jsonl":
        _fail(f"--format {form}: there is jsonl only")
    between = TimeRange(from_ms=_time(from_time, "--from"), to_ms=_time(to_time, "--to"))
    items = read(files, between=between)
    selection = _selection(kind, broker, topic)
    if out is None:
        whole = _export(items, selection, sys.stdout.buffer)
    else:
        try:
            with out.open("wb") as file:
                whole = _export(items, selection, file)
        except OSError as problem:
            _fail(f"--out {out}: {problem.strerror}")
    if not whole:
        raise typer.Exit(_EXIT_NO)


@app.command("stats")
def stats_command(home: Home = None, folder: Folder = None, as_json: Json = False) -> None:
    """Count records and bytes by kind."""
    report = verify(_files(home, folder))
    if as_json:
        print(msgspec.json.encode(report).decode())
    else:
        _print_stats(report)


# -- what was asked for ------------------------------------------------------------------------------------------


def _files(home: Path | None, folder: Path | None) -> FolderFiles:
    if home is not None and folder is not None:
        _fail("--home and --dir: give one of them")
    path = folder if folder is not None else (home or default_home(os.environ)) / "journal"
    path = path.expanduser()
    if not path.is_dir():
        _fail(f"{path}: no such folder; name the server's home with --home, or the journal folder with --dir")
    files = FolderFiles(path)
    try:
        files.names()
    except OSError as problem:
        _fail(f"{path}: {problem.strerror}")
    return files


def _selection(kinds: list[str] | None, brokers: list[str] | None, topics: list[str] | None) -> Selection:
    for kind in kinds or ():
        if kind not in KINDS:
            _fail(f"--kind {kind}: there are {', '.join(sorted(KINDS))}")
    return Selection(kinds=frozenset(kinds or ()), brokers=frozenset(brokers or ()), topics=frozenset(topics or ()))


def _time(text: str | None, option: str) -> int | None:
    try:
        return None if text is None else parse_time(text, option)
    except UsageError as error:
        _fail(str(error))


def _wait() -> bool:
    sys.stdout.flush()
    time.sleep(_POLL_S)
    return True


def _fail(message: str) -> NoReturn:
    print(f"routebook: {escape(message, max_chars=4096)}", file=sys.stderr)
    raise typer.Exit(_EXIT_USAGE)


# -- what is shown -----------------------------------------------------------------------------------------------


def _export(items: Iterable[Item], selection: Selection, to: BinaryIO) -> bool:
    whole = True
    for item in items:
        if isinstance(item, Line):
            if selection.fits(item.record):
                to.write(item.raw + b"\n")
        else:
            _complain(item)
            whole = whole and not _is_loss(item)
    to.flush()
    return whole


def _is_loss(item: Damage | Hole) -> bool:
    return item.certain if isinstance(item, Hole) else not item.unfinished


def _show(line: Line, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.buffer.write(line.raw + b"\n")
        sys.stdout.buffer.flush()
        return
    record = line.record
    text = escape(describe_event(record), max_chars=2000)
    colour, plain = ("\x1b[36m", "\x1b[0m") if _in_colour() else ("", "")
    print(f"{format_time(record.at)} {record.seq:>8} {colour}{escape(record.kind):<20}{plain} {text}")


def _in_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _complain(item: Damage | Hole) -> None:
    text = describe_hole(item) if isinstance(item, Hole) else describe_damage(item)
    print(f"routebook: {escape(text, max_chars=2000)}", file=sys.stderr)


def _print_verdict(report: Report) -> None:
    for damage in report.damage:
        print(f"damaged: {escape(describe_damage(damage))}")
    for hole in report.holes:
        print(f"hole: {escape(describe_hole(hole))}")
    if report.unnumbered:
        print(f"hole: {report.unnumbered} events of long outages have not even a number")
    for hole in report.skipped:
        print(f"skipped: {escape(describe_hole(hole))}")
    if report.unfinished is not None:
        print(f"unfinished: {escape(describe_damage(report.unfinished))} (being written, or cut off at the next start)")
    print(f"{'whole' if report.whole else 'not whole'}: {_extent(report)}")


def _extent(report: Report) -> str:
    if report.first_seq is None or report.earliest_ms is None or report.latest_ms is None:
        return "no records"
    return (
        f"{report.records} records, {report.first_seq} to {report.last_seq}, {format_time(report.earliest_ms)} to "
        f"{format_time(report.latest_ms)}, in {report.segments} segments of {report.disk_bytes} bytes"
    )


def _print_stats(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=None)
    table.add_column("kind")
    for heading in ("records", "bytes", "share"):
        table.add_column(heading, justify="right")
    for kind, count in report.kinds.items():
        share = f"{100 * count.bytes / max(1, report.text_bytes):.1f} %"
        table.add_row(escape(kind), str(count.records), str(count.bytes), share)
    console = Console(highlight=False, markup=False)
    console.print(table)
    rolled = f"{report.rolled} of them rolled, {report.text_bytes} bytes as text, {report.boots} starts"
    console.print(f"{_extent(report)}; {rolled}", soft_wrap=True)
