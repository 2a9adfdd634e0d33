"""`routebook lake build|backfill|vacuum`: updates, rebuilds and compacts the tables with Spark."""

import click

from routebook.cli.framework import command, flag, option
from routebook.cli.lake.options import BuildOptions, build_options
from routebook.cli.lake.session import journal_folders, open_pipeline, print_outcome
from routebook.cli.output import json_option
from routebook.cli.times import parse_day
from routebook.errors import UsageError


@command("build")
@build_options(with_journals=True)
@flag("--strict", help="Exit with 1 if the lake lacks events: holes, or anything in quarantine.")
@json_option
def build(*, options: BuildOptions, strict: bool, as_json: bool) -> int:
    """Read new journal records and update the tables.

    The exit code is 1 if lines or files were quarantined since the last build.
    """
    with open_pipeline(options, "build", quiet=as_json) as pipeline:
        outcome = pipeline.build(journal_folders(options))
    return print_outcome(outcome, as_json=as_json, strict=strict)


@command("backfill")
@option("--from", "from_day", required=True, metavar="DAY", help="First day (UTC), such as 2026-01-31.")
@option("--to", "to_day", metavar="DAY", help="Last day (UTC); later rows stay unchanged [all days].")
@build_options(with_journals=False)
@json_option
def backfill(*, from_day: str, to_day: str | None, options: BuildOptions, as_json: bool) -> int:
    """Rebuild the tables for a range of days, from the events in the lake."""
    first = parse_day(from_day, "--from")
    last = None if to_day is None else parse_day(to_day, "--to")
    if last is not None and last < first:
        raise UsageError(f"--to {to_day}: is before --from {from_day}")
    with open_pipeline(options, "backfill", quiet=as_json) as pipeline:
        outcome = pipeline.backfill(first, last)
    return print_outcome(outcome, as_json=as_json)


@command("vacuum")
@option(
    "--keep-days",
    type=click.IntRange(min=0),
    default=7,
    metavar="D",
    help="Days that --as-of can go back afterwards [7].",
)
@build_options(with_journals=False)
@json_option
def vacuum(*, keep_days: int, options: BuildOptions, as_json: bool) -> int:
    """Compact small files and delete what only older builds need."""
    with open_pipeline(options, "vacuum", quiet=as_json) as pipeline:
        outcome = pipeline.vacuum(keep_days=keep_days)
    return print_outcome(outcome, as_json=as_json)
