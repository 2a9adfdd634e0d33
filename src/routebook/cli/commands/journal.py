"""`routebook journal`: reads a journal folder, also while a server writes to it, and copies journals."""

import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, Final

import click
import msgspec

from routebook.cli.event_options import Filters, filter_options
from routebook.cli.framework import Group, all_of, argument, flag, option
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_error, print_json, print_table, uses_colour
from routebook.cli.times import parse_time
from routebook.cli.witnesses import read_witnesses
from routebook.errors import UsageError
from routebook.journal.files import FolderFiles
from routebook.journal.read.describe import describe_damage, describe_event, describe_hole
from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Hole, Item, Line, TimeRange, follow, newest, read
from routebook.journal.read.select import Selection
from routebook.journal.read.verify import Report, verify
from routebook.server.observe.log import escape
from routebook.server.state.home import default_home
from routebook.times import format_time

_POLL_S: Final = 0.2

journal = Group("journal", help="Print, verify, fetch, mirror and export a journal.")


def _folder_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --home and --dir; the command receives the journal folder as `files`."""

    @wraps(function)
    def call(*, home: Path | None, folder: Path | None, **values: Any) -> Any:
        return function(files=_files(home, folder), **values)

    options = (
        option("--home", type=Path, metavar="DIR", help="Home folder of the server [ROUTEBOOK_HOME, or ~/.routebook]."),
        option("--dir", "folder", type=Path, metavar="DIR", help="Journal folder, instead of --home."),
    )
    return all_of(options, call)


@journal.command("tail")
@_folder_options
@option("-n", "count", type=click.IntRange(min=0), default=20, metavar="N", help="Number of records [20].")
@flag("-f", "--follow", "is_following", help="Continue with new records until interrupted.")
@filter_options
@json_option
def tail_records(*, files: FolderFiles, count: int, is_following: bool, filters: Filters, as_json: bool) -> int:
    """Print the newest records."""
    selection = _selection(filters)
    lines = newest(files, count, wanted=selection.fits) if count else []
    for line in lines:
        _show(line, as_json=as_json)
    if not is_following:
        return EXIT_OK
    beyond = newest(files, 1, wanted=lambda _: True)
    after = max((line.record.seq for line in (*lines, *beyond)), default=0)
    shown = lines[-1].record.seq if lines else after
    try:
        for item in follow(files, from_seq=min(shown, after) + 1, wait=_wait):
            if not isinstance(item, Line):
                _report_loss(item)
            elif selection.fits(item.record):
                _show(item, as_json=as_json)
    except KeyboardInterrupt:
        pass
    return EXIT_OK


@journal.command("verify")
@_folder_options
@option(
    "--witness",
    "witnesses",
    multiple=True,
    metavar="HOME|URL",
    help="Compare with what a peer has seen of this journal: its home folder, its witness.json, or its HTTP port.",
)
@json_option
def verify_records(*, files: FolderFiles, witnesses: tuple[str, ...], as_json: bool) -> int:
    """Read the whole journal and the audit records, and check their hash chains.

    The exit code is 1 if records are damaged, missing or altered.
    """
    seen = read_witnesses(witnesses)
    owners = {line.record.ns for line in newest(files, 1, wanted=lambda _: True)}
    report = verify(files, witnesses=seen.of(owners, "journal"))
    folder = files.folder.parent / "audit"
    audit = None
    if files.folder.name == "journal" and folder.is_dir():
        audit = verify(FolderFiles(folder), witnesses=seen.of(owners, "audit"), is_audit=True)
    if as_json:
        print_json({**msgspec.to_builtins(report), "audit": audit})
    else:
        if audit is not None and audit.records:
            _print_verdict(audit, "audit records ")
        _print_verdict(report)
    return EXIT_OK if report.whole and (audit is None or audit.whole) else EXIT_NO


@journal.command("fetch")
@argument("url", metavar="URL")
@option("--to", "target", type=Path, required=True, metavar="DIR", help="Folder; each NameServer gets one below it.")
@option("--ns", "wanted", multiple=True, metavar="NS", help="Only this NameServer; repeatable [all].")
@option("--from", "from_time", metavar="TIME", help="Only segments with records from this time on.")
@json_option
def fetch_segments(*, url: str, target: Path, wanted: tuple[str, ...], from_time: str | None, as_json: bool) -> int:
    """Download journals from an archive; what is there already is not downloaded again.

    URL is s3://bucket/prefix, gs://…, az://… or file:///folder.
    """
    from routebook.archive.restore import restore
    from routebook.archive.store import ArchiveStore

    store = ArchiveStore(url)
    found = store.nameservers()
    for ns in wanted:
        if ns not in found:
            print_error(f"no NameServer {ns} in {store.url}; it has {', '.join(found) or 'none'}")
            return EXIT_NO
    if not found:
        print_error(f"no journals in {store.url}")
        return EXIT_NO
    from_ms = _time(from_time, "--from")
    done = {ns: restore(store, ns, target.expanduser() / ns, from_ms=from_ms) for ns in wanted or found}
    if as_json:
        print_json(done)
    else:
        rows = [(ns, str(one.segments), str(one.bytes)) for ns, one in done.items()]
        print_table(("NameServer", "segments", "bytes"), rows)
    return EXIT_OK


@journal.command("mirror")
@argument("servers", metavar="HTTP...", nargs=-1, required=True, help="HTTP ports, such as http://ns1:8876.")
@option(
    "--to", "url", required=True, metavar="URL", help="Archive: s3://bucket/prefix, gs://…, az://… or file:///folder."
)
@json_option
def mirror_segments(*, servers: tuple[str, ...], url: str, as_json: bool) -> int:
    """Copy the finished segments of NameServers into an archive; what is there already is not copied again.

    For NameServers without routebook.archive.url.
    """
    from routebook.archive.store import ArchiveStore
    from routebook.cli.http import open_http
    from routebook.client.journal_mirror import mirror

    store = ArchiveStore(url)
    done = [mirror(open_http(server), store) for server in servers]
    if as_json:
        print_json(done)
    else:
        print_table(("NameServer", "segments", "bytes"), [(one.ns, str(one.segments), str(one.bytes)) for one in done])
    return EXIT_OK


@journal.command("export")
@_folder_options
@option("--from", "from_time", metavar="TIME", help="First time: ISO 8601 (UTC), or ms since the epoch.")
@option("--to", "to_time", metavar="TIME", help="Last time, inclusive.")
@filter_options
@option("--format", "form", default="jsonl", metavar="jsonl", help="Output format: jsonl, the lines of the journal.")
@option("-o", "--out", type=Path, metavar="FILE", help="Output file [stdout].")
def export_records(
    *,
    files: FolderFiles,
    from_time: str | None,
    to_time: str | None,
    filters: Filters,
    form: str,
    out: Path | None,
) -> int:
    """Write the records of a period.

    The exit code is 1 if records of the period are damaged or missing.
    """
    if form != "jsonl":
        raise UsageError(f"--format {form}: the only format is jsonl")
    between = TimeRange(from_ms=_time(from_time, "--from"), to_ms=_time(to_time, "--to"))
    items = read(files, between=between)
    selection = _selection(filters)
    if out is None:
        whole = _export(items, selection, sys.stdout.buffer)
    else:
        try:
            with out.open("wb") as file:
                whole = _export(items, selection, file)
        except OSError as error:
            raise UsageError(f"--out {out}: {error.strerror}") from None
    return EXIT_OK if whole else EXIT_NO


@journal.command("stats")
@_folder_options
@json_option
def count_records(*, files: FolderFiles, as_json: bool) -> int:
    """Count records and bytes by kind."""
    report = verify(files)
    if as_json:
        print_json(report)
    else:
        _print_stats(report)
    return EXIT_OK


def _files(home: Path | None, folder: Path | None) -> FolderFiles:
    if home is not None and folder is not None:
        raise UsageError("--home and --dir cannot be combined")
    path = folder if folder is not None else (home or default_home(os.environ)) / "journal"
    path = path.expanduser()
    if not path.is_dir():
        raise UsageError(f"{path}: no such folder; pass the server's home as --home, or the journal folder as --dir")
    files = FolderFiles(path)
    try:
        files.names()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    return files


def _selection(filters: Filters) -> Selection:
    return Selection(
        kinds=frozenset(filters.kinds), brokers=frozenset(filters.brokers), topics=frozenset(filters.topics)
    )


def _time(text: str | None, option_name: str) -> int | None:
    return None if text is None else parse_time(text, option_name)


def _wait() -> bool:
    sys.stdout.flush()
    time.sleep(_POLL_S)
    return True


def _export(items: Iterable[Item], selection: Selection, to: BinaryIO) -> bool:
    whole = True
    for item in items:
        if isinstance(item, Line):
            if selection.fits(item.record):
                to.write(item.raw + b"\n")
        else:
            _report_loss(item)
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
    colour, plain = ("\x1b[36m", "\x1b[0m") if uses_colour() else ("", "")
    print(f"{format_time(record.at)} {record.seq:>8} {colour}{escape(record.kind):<20}{plain} {text}")


def _report_loss(item: Damage | Hole) -> None:
    print_error(describe_hole(item) if isinstance(item, Hole) else describe_damage(item))


def _print_verdict(report: Report, what: str = "") -> None:
    for damage in report.damage:
        print(f"damaged: {escape(describe_damage(damage))}")
    for hole in report.holes:
        print(f"hole: {escape(describe_hole(hole))}")
    if report.unnumbered:
        print(f"hole: {report.unnumbered} events of long outages have no sequence number")
    for found in report.breaks:
        print(f"broken chain: records {found.first} to {found.last}: {found.reason}")
    for hole in report.skipped:
        print(f"skipped: {escape(describe_hole(hole))}")
    if report.unfinished is not None:
        print(f"unfinished: {escape(describe_damage(report.unfinished))} (being written, or cut off at the next start)")
    chained = "" if report.chained_since is None else f", hash chain since {report.chained_since}"
    compared = f", {report.heads_compared} heads compared" if report.heads_compared else ""
    print(f"{what}{'whole' if report.whole else 'not whole'}: {_extent(report)}{chained}{compared}")


def _extent(report: Report) -> str:
    if report.first_seq is None or report.earliest_ms is None or report.latest_ms is None:
        return "no records"
    return (
        f"{report.records} records, {report.first_seq} to {report.last_seq}, {format_time(report.earliest_ms)} to "
        f"{format_time(report.latest_ms)}, in {report.segments} segments of {report.disk_bytes} bytes"
    )


def _print_stats(report: Report) -> None:
    rows = [
        (kind, count.records, count.bytes, f"{100 * count.bytes / max(1, report.text_bytes):.1f} %")
        for kind, count in report.kinds.items()
    ]
    print_table(("kind", "records", "bytes", "share"), rows)
    print(
        f"{_extent(report)}; {report.rolled} of them rolled, {report.text_bytes} bytes as text, {report.boots} starts"
    )
