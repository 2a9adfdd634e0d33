"""Runs a lake pipeline for a command: lake lock, Spark session, progress and the printed result."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from routebook.cli.lake.options import BuildOptions
from routebook.cli.output import EXIT_NO, EXIT_OK, print_error, print_json, print_line
from routebook.lake.errors import LakeExtraMissing, SparkFailed
from routebook.lake.paths import Place

if TYPE_CHECKING:
    from routebook.lake.build.pipeline import Outcome, Pipeline, Stage
    from routebook.lake.lock import LakeLock


@contextmanager
def open_pipeline(options: BuildOptions, operation: str, *, quiet: bool) -> Iterator["Pipeline"]:
    """Lock the lake and open a pipeline that shows its progress."""
    lock = lake_lock(options)
    if lock is not None:
        lock.acquire(operation)
    with _progress(quiet=quiet) as on_progress, spark_session(options, lock) as session:
        yield make_pipeline(session, options, on_progress)


@contextmanager
def spark_session(options: BuildOptions, lock: "LakeLock | None") -> Iterator[Any]:
    """Open a Spark session that inherits the lock; close both at the end."""
    from pyspark.errors import PySparkException

    from routebook.lake.spark.jvm import JvmError
    from routebook.lake.spark.session import SessionOptions, open_session

    session = open_session(
        SessionOptions(
            lake=options.lake,
            master=options.master,
            conf=options.conf,
            jars=options.jars,
            inherit=() if lock is None else (lock.descriptor,),
        )
    )
    try:
        yield session
    except (PySparkException, JvmError) as error:
        raise SparkFailed(f"Spark failed: {_cause(error)}; the published tables are unchanged") from error
    finally:
        session.stop()
        if lock is not None:
            lock.close()


def make_pipeline(session: Any, options: BuildOptions, on_progress: "Callable[[Stage], None]") -> "Pipeline":
    """Return the pipeline with all steps."""
    from routebook.lake.build.pipeline import Pipeline
    from routebook.lake.build.steps import STEPS

    return Pipeline(session, options.lake, STEPS, on_progress)


def lake_lock(options: BuildOptions) -> "LakeLock | None":
    """Return the lock of a lake in a local folder; None for a URI. Raises LakeExtraMissing without PySpark."""
    if find_spec("pyspark") is None:
        raise LakeExtraMissing("pyspark")
    from routebook.lake.lock import LakeLock

    folder = Place(options.lake).local
    return None if folder is None else LakeLock(folder)


def print_outcome(outcome: "Outcome", *, as_json: bool) -> int:
    """Print the result of a build; return 1 if lines could not be read."""
    counts = outcome.counts
    if as_json:
        print_json(outcome)
    else:
        print_line(summary(outcome))
        if counts.quarantined or counts.damaged_files:
            print_line(
                f"quarantined: {counts.quarantined} lines, {counts.damaged_files} damaged files; see bronze.quarantine"
            )
        if counts.other_version:
            print_error(f"{counts.other_version} lines have a newer format: upgrade, then build again")
        if outcome.missing:
            print_line(f"missing: {outcome.missing} events in {outcome.holes} holes; see meta.holes")
    return EXIT_NO if counts.quarantined or counts.damaged_files or counts.other_version else EXIT_OK


def summary(outcome: "Outcome") -> str:
    """Return the result of a build as one line."""
    counts = outcome.counts
    if outcome.build_id is None:
        return f"no new events: {counts.read} lines read, {outcome.seconds:.1f} s"
    return (
        f"build {outcome.build_id}: {counts.read} lines of {counts.segments} segments, {counts.events} new events, "
        f"{counts.duplicates} duplicates; {outcome.tables} tables in {outcome.seconds:.1f} s"
    )


@contextmanager
def _progress(*, quiet: bool) -> "Iterator[Callable[[Stage], None]]":
    """Show a progress line on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting Spark", total=None, state="")

        def show(stage: "Stage") -> None:
            unit = "segments" if stage.name == "reading" else "tables"
            state = f"{stage.done} of {stage.total} {unit}" if stage.total else ""
            rows = f", {stage.rows:,} rows" if stage.rows else ""
            progress.update(
                task, description=stage.name, completed=stage.done, total=stage.total or None, state=state + rows
            )

        yield show


def _cause(error: Exception) -> str:
    """Return the last cause of a Spark error, or its first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by")]
    return (causes or lines or [type(error).__name__])[-1 if causes else 0][:500]
