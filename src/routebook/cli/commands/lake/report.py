"""`routebook lake report`: prints reports, or writes them as one HTML page."""

from pathlib import Path

import click

from routebook.cli.framework import argument, command, option
from routebook.cli.lake.options import as_of_option, location_options, open_for_reading
from routebook.cli.output import EXIT_OK, json_option, print_json, print_line
from routebook.errors import UsageError


@command("report")
@argument("names", metavar="[NAME]...", nargs=-1, help="Only these reports.")
@location_options
@option("--days", type=click.IntRange(1, 3660), default=30, metavar="N", help="Number of days up to now [30].")
@option("--time-zone", "zone", default="UTC", metavar="ZONE", help="Time zone, such as Europe/Berlin [UTC].")
@option("--html", type=Path, metavar="FILE", help="Write one HTML page with charts.")
@as_of_option
@json_option
def report(
    *, names: tuple[str, ...], lake: str, days: int, zone: str, html: Path | None, as_of: str | None, as_json: bool
) -> int:
    """Report on brokers and NameServers: availability, outages, divergence, timeouts, topics and admin changes."""
    from routebook.lake.reports import all_reports, make_report

    opened = open_for_reading(lake)
    if html is not None and names:
        raise UsageError("--html writes all reports: omit their names")
    if names:
        reports = {name: make_report(opened, name, days=days, zone=zone, as_of=as_of) for name in names}
    else:
        reports = all_reports(opened, days=days, zone=zone, as_of=as_of)
    if html is not None:
        from routebook.lake.reports.html.page import page

        _write(html, page(reports))
    elif as_json:
        print_json(reports)
    else:
        from routebook.cli.lake.report_tables import show_reports

        show_reports(reports)
    return EXIT_OK


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--html {file}: {error.strerror}") from None
    print_line(f"{file}: {len(text.encode()) // 1024} KB, one self-contained page")
