"""`routebook controller`: runs a Controller on its own, and shows or changes the broker sets of any."""

from pathlib import Path
from typing import Final

import click

from routebook.cli.framework import Entry, GroupedOption, LazyGroup
from routebook.errors import UsageError

_SHOW: Final = "Show"
_ENTRIES: Final = {
    "sets": Entry(_SHOW, "Show broker sets with their masters, now or at a past time.", "sets:sets"),
    "elections": Entry(_SHOW, "Show elections with their causes.", "elections:elections"),
    "elect": Entry("Change", "Make a replica the master of its set.", "change:elect"),
    "clean": Entry("Change", "Remove replicas from a Controller.", "change:clean"),
    "import": Entry("Change", "Take over the broker sets of a running Controller.", "import_command:import_sets"),
    "export": Entry("Change", "Recreate broker sets in a Java controller.", "export_command:export_sets"),
}


def _run(ctx: click.Context, home: Path | None, config_file: Path | None, http: str | None) -> None:
    if ctx.invoked_subcommand is None:
        if config_file is None:
            raise UsageError(f"pass -c FILE to run a Controller, or one of its commands: {', '.join(_ENTRIES)}")
        from routebook.cli.commands.controller.run import run

        ctx.exit(run(home, config_file, http))


controller: Final = LazyGroup(
    "controller",
    package="routebook.cli.commands.controller",
    help="Run a Controller in the foreground until SIGTERM or SIGINT, or show the sets and elections of one.",
    invoke_without_command=True,
    callback=click.pass_context(_run),
    params=[
        GroupedOption(
            ["--home"], type=Path, metavar="DIR", help="Folder of all state [ROUTEBOOK_HOME, or ~/.routebook]."
        ),
        GroupedOption(
            ["-c", "--configFile", "config_file"],
            type=Path,
            metavar="FILE",
            help="A .properties file with Java's keys of the Controller.",
        ),
        GroupedOption(["--http"], metavar="HOST:PORT|off", help="HTTP address for health and metrics [off]."),
    ],
    entries=_ENTRIES,
)
