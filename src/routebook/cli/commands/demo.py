"""`routebook demo`: two NameServers with a past, a simulated fleet with faults, and a lake, until ctrl-c."""

import asyncio
import contextlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from routebook.cli.framework import command, flag, option
from routebook.cli.output import EXIT_OK, print_line, uses_colour
from routebook.errors import UsageError

if TYPE_CHECKING:
    from routebook.demo.past import Moment
    from routebook.demo.run import Demo
    from routebook.fleet.live.report import FaultRecord
    from routebook.fleet.live.run import FleetRun
    from routebook.fleet.scenario import Scenario

_SCENARIO: Final = "demo"
_NAMESERVER: Final = "127.0.0.1:9876"
_HTTP: Final = "127.0.0.1:8876"


@command("demo")
@option("--listen", metavar="HOST:PORT", help=f"First NameServer; the second has the next port [{_NAMESERVER}].")
@option("--http", metavar="HOST:PORT", help=f"First console; the second has the next port [{_HTTP}].")
@flag("--no-lake", help="Run without the lake, even if Spark is installed.")
@option("--keep", type=Path, metavar="DIR", help="Empty or new folder for all state, kept after the demo.")
@option("--seconds", type=click.FloatRange(min=1), metavar="S", help="Stop after this time [ctrl-c, at most an hour].")
def demo(*, listen: str | None, http: str | None, no_lake: bool, keep: Path | None, seconds: float | None) -> int:
    """Show everything on a simulated fleet.

    Simulates eight days of a fleet, then runs two NameServers that know these days, the same fleet live with faults,
    and a lake of both. Prints what to look at. Nothing outside a temporary folder changes.
    """
    from routebook.demo.run import Demo, Ports, choose_ports
    from routebook.fleet.scenario import load_scenario

    for name, given in (("--listen", listen), ("--http", http)):
        if given is not None and not given.rpartition(":")[2].isdecimal():
            raise UsageError(f"{name} {given}: not HOST:PORT, such as {_HTTP}")
    ports = choose_ports(listen, http, default=Ports(nameserver=_NAMESERVER, http=_HTTP))
    with_lake = not no_lake and find_spec("pyspark") is not None
    duration_ms = None if seconds is None else int(seconds * 1000)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM stops the simulation like ctrl-c
    with _folder(keep) as folder:
        scenario = load_scenario(_SCENARIO)
        moment = _simulate(folder, scenario)

        async def work() -> None:
            running = Demo(folder, scenario, ports, with_lake=with_lake)
            await _show(running, moment, duration_ms, with_lake=with_lake)

        asyncio.run(work())
    return EXIT_OK


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """The folder of all state; a temporary one is removed at the end."""
    if keep is None:
        folder = Path(tempfile.mkdtemp(prefix="routebook-demo-"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    folder = keep.expanduser().resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--keep {keep}: not an empty folder: pass an empty or a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    yield folder


def _simulate(folder: Path, scenario: "Scenario") -> "Moment | None":
    from routebook.demo.past import DAYS, simulate_past

    title = f"Simulating {DAYS} days of a fleet"
    if uses_colour():
        from rich.progress import Progress

        with Progress(transient=True) as progress:
            task = progress.add_task(title, total=1.0)
            return simulate_past(folder, scenario, lambda done: progress.update(task, completed=done))
    return simulate_past(folder, scenario, _print_quarters(title))


def _print_quarters(title: str) -> Callable[[float], None]:
    """Progress without a terminal: a line per quarter."""
    printed = -1

    def on_progress(done: float) -> None:
        nonlocal printed
        if (quarter := int(done * 4)) > printed:
            printed = quarter
            print_line(f"{title}: {quarter * 25} %")
            sys.stdout.flush()

    on_progress(0.0)
    return on_progress


async def _show(running: "Demo", moment: "Moment | None", duration_ms: int | None, *, with_lake: bool) -> None:
    from routebook.demo.guide import guide
    from routebook.fleet.live.report import format_report

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, running.stop)
    views: list[asyncio.Task[None]] = []

    def print_guide() -> None:
        for line in guide(running, moment, with_lake=with_lake):
            print(line)
        sys.stdout.flush()

    def show_fleet(fleet: "FleetRun") -> None:
        if uses_colour():
            from rich.console import Console

            from routebook.fleet.live.view import FleetView

            views.append(loop.create_task(FleetView(fleet, Console()).show()))

    try:
        report = await running.run(
            on_started=print_guide,
            on_fault=None if uses_colour() else _print_fault,
            on_fleet=show_fleet,
            duration_ms=duration_ms,
        )
    finally:
        for view in views:
            view.cancel()
        await asyncio.gather(*views, return_exceptions=True)
    for line in () if report is None else format_report(report):
        print_line(line)


def _print_fault(fault: "FaultRecord") -> None:
    print_line(f"{fault.at_s:>7.1f} s  {fault.kind}: {fault.target}")
    sys.stdout.flush()
