"""`routebook lake build|follow|backfill|vacuum`: journals become tables, on Spark. Reading them is in `lake_read`."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from routebook.cli.output import EXIT_FINE, EXIT_NO, complain, print_json, say
from routebook.cli.times import parse_day
from routebook.errors import UsageError
from routebook.lake.errors import LakeExtraMissing, SparkFailed
from routebook.lake.paths import Place, check_journal
from routebook.server.state.home import default_home

if TYPE_CHECKING:
    from routebook.lake.build.pipeline import Outcome, Pipeline, Stage
    from routebook.lake.lock import LakeLock

app = typer.Typer(
    name="lake",
    help="Journals as tables: build, follow, query, report.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Journal = Annotated[
    list[str] | None,
    typer.Option("--journal", "-j", metavar="PATH", help="a journal folder; may be repeated [HOME/journal]"),
]
LakePath = Annotated[str | None, typer.Option("--lake", metavar="PATH", help="where the tables are [HOME/lake]")]
Home = Annotated[
    Path | None, typer.Option("--home", metavar="DIR", help="the server's home [ROUTEBOOK_HOME, or ~/.routebook]")
]
Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="local[4], spark://…, k8s://…, yarn [all cores here]")
]
Conf = Annotated[
    list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="a setting of Spark; may be repeated")
]
Jars = Annotated[
    list[str] | None,
    typer.Option("--jars", metavar="PATH", help="Iceberg's jars, instead of Maven's; may be repeated"),
]
Json = Annotated[bool, typer.Option("--json", help="for machines")]


class _Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says, of all commands."""

    lake: str
    journals: list[str]
    master: str | None
    conf: dict[str, str]
    jars: list[str]


@app.command("build")
def build_command(
    journal: Journal = None,
    lake: LakePath = None,
    home: Home = None,
    master: Master = None,
    conf: Conf = None,
    jars: Jars = None,
    as_json: Json = False,
) -> int:
    """Read what is new and make the tables; exit code 1 if lines were set aside."""
    chosen = _chosen(lake=lake, home=home, journal=journal, master=master, conf=conf, jars=jars)
    with _working(chosen, "build", quiet=as_json) as pipeline:
        outcome = pipeline.build(chosen.journals)
    return _tell(outcome, as_json=as_json)


@app.command("follow")
def follow_command(
    journal: Journal = None,
    lake: LakePath = None,
    home: Home = None,
    master: Master = None,
    conf: Conf = None,
    jars: Jars = None,
    every: Annotated[float, typer.Option("--every", min=0.0, metavar="S", help="seconds between passes")] = 10.0,
    as_json: Json = False,
) -> int:
    """Build again and again until ctrl-c; a pass that fails is told of and tried again."""
    from routebook.lake.build.follow import Follower

    chosen = _chosen(lake=lake, home=home, journal=journal, master=master, conf=conf, jars=jars)
    stop = threading.Event()
    lock = _lock(chosen)
    with _session(chosen, lock) as session:
        for number in (signal.SIGINT, signal.SIGTERM):  # now: Spark has set one of its own
            signal.signal(number, lambda *_: stop.set())
        follower = Follower(
            _pipeline(session, chosen, lambda _: None),
            lake=chosen.lake,
            journals=chosen.journals,
            lock=lock,
            say=lambda outcome: _say_pass(outcome, as_json=as_json),
            complain=complain,
        )
        follower.run(every_s=every, stop=stop)
    return EXIT_FINE


@app.command("backfill")
def backfill_command(
    from_day: Annotated[str, typer.Option("--from", metavar="DAY", help="the first day (UTC), as 2026-01-31")],
    to_day: Annotated[
        str | None, typer.Option("--to", metavar="DAY", help="the last day; what follows from it is redone, too")
    ] = None,
    lake: LakePath = None,
    home: Home = None,
    master: Master = None,
    conf: Conf = None,
    jars: Jars = None,
    as_json: Json = False,
) -> int:
    """Make the tables again from a day on, out of the events that the lake has."""
    first = parse_day(from_day, "--from")
    if to_day is not None and parse_day(to_day, "--to") < first:
        raise UsageError(f"--to {to_day}: is before --from {from_day}")
    chosen = _chosen(lake=lake, home=home, journal=[], master=master, conf=conf, jars=jars)
    with _working(chosen, "backfill", quiet=as_json) as pipeline:
        outcome = pipeline.backfill(first)
    return _tell(outcome, as_json=as_json)


@app.command("vacuum")
def vacuum_command(
    keep_days: Annotated[
        int, typer.Option("--keep-days", min=0, metavar="D", help="how far back --as-of can go afterwards")
    ] = 7,
    lake: LakePath = None,
    home: Home = None,
    master: Master = None,
    conf: Conf = None,
    jars: Jars = None,
    as_json: Json = False,
) -> int:
    """Write small files together, and let go of what only older builds need."""
    chosen = _chosen(lake=lake, home=home, journal=[], master=master, conf=conf, jars=jars)
    with _working(chosen, "vacuum", quiet=as_json) as pipeline:
        outcome = pipeline.vacuum(keep_days=keep_days)
    return _tell(outcome, as_json=as_json)


if find_spec("routebook.cli.commands.lake_read") is not None:
    from routebook.cli.commands.lake_read import add_reading

    add_reading(app)


# -- what was asked for ------------------------------------------------------------------------------------------


def _chosen(
    *,
    lake: str | None,
    home: Path | None,
    journal: list[str] | None,
    master: str | None,
    conf: list[str] | None,
    jars: list[str] | None,
) -> _Chosen:
    if lake is None or journal is None:
        folder = home or default_home(os.environ)
        lake = lake or str(folder / "lake")
        journal = [str(folder / "journal")] if journal is None else journal
    settings = {}
    for one in conf or ():
        key, mark, value = one.partition("=")
        if not mark or not key.strip():
            raise UsageError(f"--conf {one}: write KEY=VALUE")
        settings[key.strip()] = value
    for jar in jars or ():
        place = Place(jar)
        if place.local is not None and not place.local.is_file():
            raise UsageError(f"--jars {jar}: no such file")
    for one in journal:
        check_journal(Place(one))
    return _Chosen(lake=lake, journals=list(journal), master=master, conf=settings, jars=list(jars or ()))


# -- doing it ----------------------------------------------------------------------------------------------------


@contextmanager
def _working(chosen: _Chosen, what: str, *, quiet: bool) -> Iterator["Pipeline"]:
    """A pipeline whose lake is ours alone, with its progress shown."""
    lock = _lock(chosen)
    if lock is not None:
        lock.take(what)
    with _progress(quiet=quiet) as tell, _session(chosen, lock) as session:
        yield _pipeline(session, chosen, tell)


@contextmanager
def _session(chosen: _Chosen, lock: "LakeLock | None") -> Iterator[Any]:
    from pyspark.errors import PySparkException

    from routebook.lake.spark.jvm import JvmError
    from routebook.lake.spark.session import SessionOptions, open_session

    options = SessionOptions(
        lake=chosen.lake,
        master=chosen.master,
        conf=chosen.conf,
        jars=chosen.jars,
        hold=() if lock is None else (lock.descriptor,),
    )
    session = open_session(options)
    try:
        yield session
    except (PySparkException, JvmError) as error:
        raise SparkFailed(f"Spark failed: {_first_line(error)}; what was published before stays as it was") from error
    finally:
        session.stop()
        if lock is not None:
            lock.close()


def _pipeline(session: Any, chosen: _Chosen, tell: Any) -> "Pipeline":
    from routebook.lake.build.pipeline import Pipeline
    from routebook.lake.build.steps import STEPS

    return Pipeline(session, chosen.lake, STEPS, tell)


def _lock(chosen: _Chosen) -> "LakeLock | None":
    if find_spec("pyspark") is None:
        raise LakeExtraMissing("pyspark")
    from routebook.lake.lock import LakeLock

    folder = Place(chosen.lake).local
    return None if folder is None else LakeLock(folder)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by")]
    return (causes or lines or [type(error).__name__])[-1 if causes else 0][:500]


# -- what is shown -----------------------------------------------------------------------------------------------


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Any]:
    """A line that moves on a terminal; elsewhere nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[says]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting Spark", total=None, says="")

        def tell(stage: "Stage") -> None:
            unit = "segments" if stage.name == "reading" else "tables"
            says = f"{stage.done} of {stage.total} {unit}" if stage.total else ""
            rows = f", {stage.rows:,} rows" if stage.rows else ""
            progress.update(
                task, description=stage.name, completed=stage.done, total=stage.total or None, says=says + rows
            )

        yield tell


def _tell(outcome: "Outcome", *, as_json: bool) -> int:
    counts = outcome.counts
    if as_json:
        print_json(outcome)
    else:
        say(_sentence(outcome))
        if counts.quarantined or counts.damaged_files:
            say(f"set aside: {counts.quarantined} lines, {counts.damaged_files} damaged files; see bronze.quarantine")
        if counts.other_version:
            complain(f"{counts.other_version} lines are of a newer format: upgrade, and build again to read them")
        if outcome.missing:
            say(f"missing: {outcome.missing} events in {outcome.holes} holes; see `meta.holes`")
    return EXIT_NO if counts.quarantined or counts.damaged_files or counts.other_version else EXIT_FINE


def _say_pass(outcome: "Outcome", *, as_json: bool) -> None:
    if outcome.build_id is None:
        return
    if as_json:
        sys.stdout.write(msgspec.json.encode(outcome).decode() + "\n")
    else:
        say(_sentence(outcome))
    sys.stdout.flush()


def _sentence(outcome: "Outcome") -> str:
    counts = outcome.counts
    if outcome.build_id is None:
        return f"nothing new: {counts.read} lines read again, {outcome.seconds:.1f} s"
    return (
        f"build {outcome.build_id}: {counts.read} lines of {counts.segments} segments, {counts.events} new events, "
        f"{counts.duplicates} had before; {outcome.tables} tables in {outcome.seconds:.1f} s"
    )
