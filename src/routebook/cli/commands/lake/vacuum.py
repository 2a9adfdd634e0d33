"""`routebook lake vacuum`: compacts small files and deletes versions that only older builds need."""

import click

from routebook.cli.framework import command, option
from routebook.cli.lake.options import BuildOptions, build_options
from routebook.cli.lake.session import open_pipeline, print_outcome
from routebook.cli.output import json_option


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
