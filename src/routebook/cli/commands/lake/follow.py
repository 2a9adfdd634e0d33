"""`routebook lake follow`: builds repeatedly on one Spark session."""

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click
import msgspec

from routebook.cli.framework import command, flag, option
from routebook.cli.lake.options import BuildOptions, build_options
from routebook.cli.lake.session import journal_folders, lake_lock, make_pipeline, spark_session, summary, warnings
from routebook.cli.output import EXIT_OK, print_error, print_line
from routebook.lake.config import lake_config
from routebook.lake.status import State, Status, write_status

if TYPE_CHECKING:
    from routebook.lake.build.outcome import Outcome


@command("follow")
@build_options(with_journals=True)
@option("--every", type=click.FloatRange(min=0.0), default=10.0, metavar="SECONDS", help="Pause between builds [10].")
@flag("--json", "as_json", help="Print one JSON object per build.")
def follow(*, options: BuildOptions, every: float, as_json: bool) -> int:
    """Build repeatedly until interrupted.

    A failed build is reported and repeated.
    """
    from routebook.lake.build.follow import Follower

    shown: list[str] = []  # warnings

    def print_build(outcome: "Outcome") -> None:
        nonlocal shown
        if outcome.build_id is None:
            return
        if as_json:
            print(msgspec.json.encode(outcome).decode())
        else:
            print_line(summary(outcome))
            before, shown = shown, warnings(outcome)
            for warning in shown if shown != before else ():
                print_error(f"warning: {warning}")
        sys.stdout.flush()

    stop = threading.Event()
    lock = lake_lock(options)
    folder = lake_config(options.lake).state_folder
    with suppress(OSError):  # opening the session reports it
        folder.mkdir(parents=True, exist_ok=True)
    write_status(
        folder, Status(state=State.STARTING, at_ms=int(time.time() * 1000), says="starting Spark", pid=os.getpid())
    )
    with spark_session(options, lock) as session:
        for number in (signal.SIGINT, signal.SIGTERM):  # after Spark has installed its own handlers
            signal.signal(number, lambda *_: stop.set())
        follower = Follower(
            make_pipeline(session, options, lambda _: None),
            folder=folder,
            journals=lambda: journal_folders(options),
            lock=lock,
            on_build=print_build,
            on_error=print_error,
        )
        follower.run(every_s=every, stop=stop)
    return EXIT_OK
