"""`routebook up`: a NameServer, and a lake that follows its journal in a process of its own."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from routebook.cli.commands.serve import serve
from routebook.server.state.home import default_home


def up(args: Sequence[str]) -> int:
    """All options of `serve`, and a few for the lake; the exit code is the NameServer's."""
    options, rest = _parser().parse_known_args(args)
    home = options.home.expanduser() if options.home is not None else default_home(os.environ)
    serving = ["--home", str(home), *rest]
    if options.no_lake or any(one in {"-p", "--printConfigItem"} for one in rest):
        return serve(serving)
    from routebook.server.lake_worker import LakeWorker

    lake = home / "lake"
    worker = [sys.executable, "-m", "routebook.cli.lake_worker"]
    command = [*worker, "--journal", str(home / "journal"), "--lake", str(lake)]
    for name, value in (("--master", options.master), ("--every", options.every)):
        command += [] if value is None else [name, value]
    for pair in options.conf:
        command += ["--conf", pair]
    follower = LakeWorker(command, lake, ready=_serves(home), missing=_missing())
    follower.start()
    try:
        return serve(serving)
    finally:
        follower.stop()


def _serves(home: Path) -> Callable[[], bool]:
    """Whether this process has the home and its journal: from then on the lake may take time from the machine."""
    mine = str(os.getpid())

    def ready() -> bool:
        try:
            holder = (home / "lock").read_text().split()
            return bool(holder) and holder[0] == mine and any((home / "journal").glob("*.jsonl"))
        except OSError:
            return False

    return ready


def _missing() -> str | None:
    from routebook.lake.errors import LakeExtraMissing

    names = [name for name in ("pyspark", "pyiceberg", "duckdb") if find_spec(name) is None]
    return str(LakeExtraMissing(", ".join(names))) if names else None


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="routebook up",
        description="Run a NameServer, and a lake that follows its journal. Takes all options of `serve`, and these.",
        allow_abbrev=False,
    )
    option = parser.add_argument
    option("--home", metavar="DIR", type=Path, help="where all state is kept [ROUTEBOOK_HOME, or ~/.routebook]")
    option("--no-lake", action="store_true", help="the NameServer alone, as `serve`")
    option("--every", metavar="SECONDS", help="how often the lake looks for news [as `lake follow`]")
    option("--master", metavar="URL", help="which Spark [local]")
    option("--conf", metavar="KEY=VALUE", action="append", default=[], help="a setting for Spark; repeatable")
    return parser
