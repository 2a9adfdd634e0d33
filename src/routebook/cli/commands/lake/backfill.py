"""`routebook lake backfill`: rebuilds the tables of past days from the events in the lake."""

from routebook.cli.framework import command, option
from routebook.cli.lake.options import BuildOptions, build_options
from routebook.cli.lake.session import open_pipeline, print_outcome
from routebook.cli.output import json_option
from routebook.cli.times import parse_day
from routebook.errors import UsageError


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
