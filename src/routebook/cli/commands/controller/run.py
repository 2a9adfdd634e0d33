"""`routebook controller -c FILE`: runs a Controller without a NameServer in the foreground."""

import os
import sys
from pathlib import Path

from routebook.server.observe.log import configure
from routebook.server.state.home import Home, default_home
from routebook.server.state.startup_files import load_settings
from routebook.settings.table import HTTP_LISTEN


def run(home: Path | None, config_file: Path, http: str | None) -> int:
    """Run it until a signal arrives; the exit code. Raises StartError."""
    options = [] if http is None else [(HTTP_LISTEN, http, "--http")]
    folder = home.expanduser() if home is not None else default_home(os.environ)
    settings = load_settings(home=folder, file=config_file, environ=os.environ, is_controller=True, options=options)
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    configure(form=settings.log_format, level=settings.log_level, stream=sys.stderr, colour=colour)
    with Home.open(folder) as opened:
        from routebook.server.run import run_controller

        return run_controller(settings, opened, warnings=settings.warnings)
