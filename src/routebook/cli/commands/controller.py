"""`routebook controller`: runs a Controller without a NameServer in the foreground."""

import os
import sys
from pathlib import Path

from routebook.cli.framework import command, option
from routebook.server.observe.log import configure
from routebook.server.state.home import Home, default_home
from routebook.server.state.startup_files import load_settings


@command("controller")
@option("--home", type=Path, metavar="DIR", help="Folder of all state [ROUTEBOOK_HOME, or ~/.routebook].")
@option(
    "-c",
    "--configFile",
    "config_file",
    type=Path,
    metavar="FILE",
    required=True,
    help="A .properties file with Java's keys of the Controller.",
)
def controller(*, home: Path | None, config_file: Path) -> int:
    """Run a Controller in the foreground until SIGTERM or SIGINT."""
    folder = home.expanduser() if home is not None else default_home(os.environ)
    settings = load_settings(home=folder, file=config_file, environ=os.environ, is_controller=True)
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    configure(form=settings.log_format, level=settings.log_level, stream=sys.stderr, colour=colour)
    with Home.open(folder) as opened:
        from routebook.server.run import run_controller

        return run_controller(settings, opened, warnings=settings.warnings)
