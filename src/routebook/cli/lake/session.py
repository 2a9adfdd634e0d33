"""Runs a lake pipeline for a command: lake lock, Spark session, progress and the printed result."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from routebook.cli.http import open_http
from routebook.cli.lake.options import BuildOptions
from routebook.cli.lake.progress import build_progress
from routebook.cli.output import EXIT_NO, EXIT_OK, print_error, print_json, print_line
from routebook.lake.config import lake_config
from routebook.lake.errors import LakeExtraMissing, SparkFailed
from routebook.lake.paths import Place

if TYPE_CHECKING:
    from routebook.lake.build.bronze.quarantine import Quarantined
    from routebook.lake.build.outcome import Outcome, Stage
    from routebook.lake.build.pipeline import Pipeline
    from routebook.lake.lock import Lock


@contextmanager
def open_pipeline(options: BuildOptions, operation: str, *, quiet: bool) -> Iterator["Pipeline"]:
    """Lock the lake and open a pipeline that shows its progress."""
    lock = lake_lock(options)
    if lock is not None:
        lock.acquire(operation)
    options = _for_small_data(options) if options.journals else options
    with build_progress(quiet=quiet) as on_progress, spark_session(options, lock) as session:
        yield make_pipeline(session, options, on_progress)


@contextmanager
def spark_session(options: BuildOptions, lock: "Lock | None") -> Iterator[Any]:
    """Open a Spark session; at the end close it, then release the lock."""
    from pyspark.errors import PySparkException

    from routebook.lake.spark.jvm import JvmError, reason_of
    from routebook.lake.spark.session import SessionOptions, close_session, log_file, open_session

    session = open_session(
        SessionOptions(
            lake=options.lake, master=options.master, conf=options.conf, jars=options.jars, journals=options.journals
        )
    )
    try:
        yield session
    except (PySparkException, JvmError) as error:
        raise SparkFailed(
            f"Spark failed: {reason_of(error)[:500]}; the published tables are unchanged; "
            f"Spark's log is {log_file(options.lake)}"
        ) from error
    finally:
        close_session(session)
        if lock is not None:
            lock.close()


def _for_small_data(options: BuildOptions) -> BuildOptions:
    """Return the options with settings for small data, if journals and lake are small; `--conf` overrides them."""
    from routebook.lake.spark.small_data import SETTINGS, is_small

    places = (lake_config(options.lake).location, *options.journals)
    if not is_small(Place(one).local for one in places):
        return options
    return msgspec.structs.replace(options, conf={**SETTINGS, **options.conf})


def make_pipeline(session: Any, options: BuildOptions, on_progress: "Callable[[Stage], None]") -> "Pipeline":
    """Return the pipeline with all steps."""
    from routebook.lake.build.pipeline import Pipeline
    from routebook.lake.build.steps import STEPS
    from routebook.lake.spark.catalog import hadoop_location

    return Pipeline(session, hadoop_location(lake_config(options.lake).location), STEPS, on_progress)


def journal_folders(options: BuildOptions) -> list[str]:
    """Return the journal folders: for an archive, the folder of each NameServer in it."""
    from routebook.lake.journal_sources import folders_of
    from routebook.lake.spark.catalog import hadoop_location

    config = lake_config(options.lake)
    return [hadoop_location(folder) for given in options.journals for folder in folders_of(given, config, open_http)]


def lake_lock(options: BuildOptions) -> "Lock | None":
    """Return the lock of the lake; None if its catalog has none. Raises LakeExtraMissing without PySpark."""
    if find_spec("pyspark") is None:
        raise LakeExtraMissing("pyspark")
    from routebook.lake.lock import lock_of

    return lock_of(lake_config(options.lake))


def print_outcome(outcome: "Outcome", *, as_json: bool, strict: bool = False) -> int:
    """Print the result of a build; return 1 if something was quarantined or, with `strict`, if events are missing."""
    if as_json:
        print_json(outcome)
    else:
        print_line(summary(outcome))
        for warning in warnings(outcome):
            print_error(f"warning: {warning}")
    is_incomplete = bool(outcome.quarantine) or outcome.missing > 0
    return EXIT_NO if outcome.new_in_quarantine or (strict and is_incomplete) else EXIT_OK


def summary(outcome: "Outcome") -> str:
    """Return the result of a build as one line."""
    counts = outcome.counts
    if outcome.build_id is None:
        return f"no new events: {counts.read} lines read, {outcome.seconds:.1f} s"
    return (
        f"build {outcome.build_id}: {counts.read} lines of {counts.segments} segments, {counts.events} new events, "
        f"{counts.duplicates} duplicates; {outcome.tables} tables in {outcome.seconds:.1f} s"
    )


def warnings(outcome: "Outcome") -> list[str]:
    """Return what the lake lacks, of this and earlier builds, one line each."""
    found = []
    if outcome.quarantine:
        new = _contents(outcome.new_in_quarantine)
        found.append(
            f"quarantined: {_contents(outcome.quarantine)}{f' (new: {new})' if new else ''}; see bronze.quarantine"
        )
    if outcome.counts.other_version:
        found.append(f"{outcome.counts.other_version} lines have a newer format: upgrade, then build again")
    if outcome.missing:
        found.append(f"missing: {outcome.missing} events in {outcome.holes} holes; see meta.holes")
    return found


def _contents(quarantine: "Quarantined") -> str:
    counts = (
        (quarantine.lines, "invalid lines"),
        (quarantine.conflicts, "conflicting events"),
        (quarantine.damaged_files, "damaged files"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count)
