"""Shows the progress of a build on stderr: a moving line on a terminal, else one line per stage."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from routebook.lake.build.outcome import Stage

_STARTING: Final = "starting Spark"


@contextmanager
def build_progress(*, quiet: bool) -> "Iterator[Callable[[Stage], None]]":
    """A function that shows each stage; with `quiet` nothing is shown."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _moving_line() as show:
            yield show
    else:
        yield _one_line_per_stage()


@contextmanager
def _moving_line() -> "Iterator[Callable[[Stage], None]]":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(_STARTING, total=None, state="")

        def show(stage: "Stage") -> None:
            progress.update(
                task,
                description=stage.name,
                completed=stage.done,
                total=stage.total or None,
                state=", ".join(_figures(stage)),
            )

        yield show


def _one_line_per_stage() -> "Callable[[Stage], None]":
    began = time.monotonic()
    last = _STARTING

    def show(stage: "Stage") -> None:
        nonlocal last
        is_new, last = stage.name != last, stage.name
        if is_new or stage.unit == "segments":
            write(stage.name, *_figures(stage))

    def write(name: str, *figures: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {name}", *figures, sep=", ", file=sys.stderr, flush=True)

    write(_STARTING)
    return show


def _figures(stage: "Stage") -> Iterator[str]:
    if stage.total:
        yield f"{stage.done} of {stage.total} {stage.unit}"
    if stage.bytes:
        yield f"{stage.bytes / 1e6:.1f} MB"
    if stage.rows:
        yield f"{stage.rows:,} rows"
