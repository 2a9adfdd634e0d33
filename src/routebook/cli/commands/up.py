"""`routebook up`: runs a NameServer, and a lake worker process that follows its journal."""

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from routebook.cli.commands.serve import ServeOptions, run_server, serve_options
from routebook.cli.framework import command, flag, option

_LAKE: Final = "Lake"


@command("up")
@serve_options
@flag("--no-lake", heading=_LAKE, help="Run the NameServer only, like `serve`.")
@option(
    "--journal",
    type=Path,
    metavar="DIR",
    multiple=True,
    heading=_LAKE,
    help="Journal folder of another NameServer to include in the lake; repeatable.",
)
@option("--every", type=float, metavar="SECONDS", heading=_LAKE, help="Pause between builds [10].")
@option("--master", metavar="URL", heading=_LAKE, help="Spark master [local].")
@option("--conf", metavar="KEY=VALUE", multiple=True, heading=_LAKE, help="A Spark setting; repeatable.")
def up(
    *,
    options: ServeOptions,
    no_lake: bool,
    journal: tuple[Path, ...],
    every: float | None,
    master: str | None,
    conf: tuple[str, ...],
) -> int:
    """Run a NameServer and keep a lake up to date with its journal.

    The lake is built by a separate process with a lower priority. The exit code is the NameServer's.
    """
    if no_lake or options.print_config_item:
        return run_server(options)
    from routebook.server.lake_worker import LakeWorker

    home = options.home_folder()
    lake = home / "lake"
    arguments = ["--lake", str(lake)]
    for folder in (home / "journal", *journal):
        arguments += ["--journal", str(folder)]
    for name, value in (("--master", master), ("--every", every), *(("--conf", pair) for pair in conf)):
        arguments += [] if value is None else [name, str(value)]
    worker_command = [sys.executable, "-m", "routebook.cli.lake_worker", *arguments]
    worker = LakeWorker(worker_command, lake, ready=_is_serving(home), missing=_missing_packages())
    worker.start()
    try:
        return run_server(options)
    finally:
        worker.stop()


def _is_serving(home: Path) -> Callable[[], bool]:
    """Whether this process holds the home folder and has opened its journal; the lake worker starts after that."""
    pid = str(os.getpid())

    def ready() -> bool:
        try:
            holder = (home / "lock").read_text().split()
            return bool(holder) and holder[0] == pid and any((home / "journal").glob("*.jsonl"))
        except OSError:
            return False

    return ready


def _missing_packages() -> str | None:
    from routebook.lake.errors import LakeExtraMissing

    names = [name for name in ("pyspark", "pyiceberg", "duckdb") if find_spec(name) is None]
    return str(LakeExtraMissing(", ".join(names))) if names else None
