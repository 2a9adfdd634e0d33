"""`routebook lake build`: reads new journal records and updates the tables."""

from routebook.cli.framework import command
from routebook.cli.lake.options import BuildOptions, build_options
from routebook.cli.lake.session import open_pipeline, print_outcome
from routebook.cli.output import json_option


@command("build")
@build_options(with_journals=True)
@json_option
def build(*, options: BuildOptions, as_json: bool) -> int:
    """Read new journal records and update the tables.

    The exit code is 1 if lines were quarantined.
    """
    with open_pipeline(options, "build", quiet=as_json) as pipeline:
        outcome = pipeline.build(options.journals)
    return print_outcome(outcome, as_json=as_json)
