"""`routebook fleet run|simulate|scenarios`: a simulated fleet, over TCP or in virtual time."""

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from routebook.cli.framework import Group, all_of, option
from routebook.cli.nameservers import ConnectionOptions, credential_options, nameserver_addresses, nameserver_option
from routebook.cli.output import EXIT_OK, json_option, print_json, print_line, print_table, uses_colour
from routebook.cli.times import parse_time
from routebook.client.addresses import parse_addresses
from routebook.errors import UsageError

if TYPE_CHECKING:
    from routebook.fleet.live.report import FaultRecord, FleetReport
    from routebook.fleet.live.run import FleetRun
    from routebook.fleet.scenario import Scenario
    from routebook.fleet.virtual.simulation import SimulationReport

_DEFAULT_RUN: Final = "quiet-day"
_DEFAULT_SIMULATION: Final = "eventful-days"
_FIRST_DAY: Final = "2026-01-01T00:00"

fleet = Group("fleet", help="Run a simulated fleet over TCP, or simulate months of one.")


def _scenario_options(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options that choose and size a scenario; the command receives it as `scenario`."""
    options = (
        option(
            "-s",
            "--scenario",
            default=default,
            metavar="NAME|FILE",
            help=f"A name from `fleet scenarios`, or a .toml file [{default}].",
        ),
        option("--brokers", type=click.IntRange(min=1), metavar="N", help="Number of brokers [scenario]."),
        option("--topics", type=click.IntRange(min=0), metavar="T", help="Number of topics [scenario]."),
        option("--clients", type=click.IntRange(min=0), metavar="C", help="Number of clients [scenario]."),
        option("--seed", type=int, default=1, metavar="S", help="Random seed; equal seeds give equal faults [1]."),
    )

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*, scenario: str, brokers: int | None, topics: int | None, clients: int | None, **values: Any) -> Any:
            from routebook.fleet.scenario import load_scenario

            sized = load_scenario(scenario).sized(brokers=brokers, topics=topics, clients=clients)
            return function(scenario=sized, **values)

        return all_of(options, call)

    return decorate


@fleet.command("run")
@_scenario_options(_DEFAULT_RUN)
@option("--duration", metavar="TIME", help="Duration such as 90s or 1h [scenario].")
@option("--time-scale", type=float, default=1.0, metavar="X", help="Run X times as fast [1].")
@option("--controller", metavar="HOST:PORT;…", help="Nodes of a Controller, for scenarios with broker sets.")
@option(
    "--outage-command",
    metavar="COMMAND",
    help="Injects faults of the Controller's processes: `COMMAND KIND begin`, then `COMMAND KIND end` [left out].",
)
@option("--out", type=Path, metavar="FILE", help="Also write the report to this file, as JSON.")
@json_option
@nameserver_option
@credential_options
def run(
    *,
    scenario: "Scenario",
    seed: int,
    duration: str | None,
    time_scale: float,
    controller: str | None,
    outage_command: str | None,
    out: Path | None,
    as_json: bool,
    nameserver: str | None,
    access_key: str | None,
    secret_key: str | None,
) -> int:
    """Run brokers and clients against NameServers (Java or Routebook) and inject faults.

    ctrl-c stops the fleet in order.
    """
    from routebook.fleet.live.outage import command_outage
    from routebook.fleet.live.report import format_report
    from routebook.fleet.live.run import FleetRun

    running = FleetRun(
        scenario,
        nameserver_addresses(nameserver),
        seed=seed,
        duration_ms=None if duration is None else _duration(duration),
        scale=time_scale,
        on_fault=None if as_json or uses_colour() else _print_fault,
        credentials=ConnectionOptions(access_key=access_key, secret_key=secret_key).credentials(),
        controllers=() if controller is None else parse_addresses(controller),
        outage=None if outage_command is None else command_outage(outage_command),
    )
    report = _run(running, is_watched=uses_colour() and not as_json)
    if out is not None:
        _save(out, report)
    if as_json:
        print_json(report)
    else:
        for line in format_report(report):
            print_line(line)
    return EXIT_OK


@fleet.command("simulate")
@option("-o", "--out", type=Path, required=True, metavar="DIR", help="Output folder, new or empty.")
@option("--days", type=float, default=1.0, metavar="D", help="Number of days [1].")
@option("--nameservers", type=click.IntRange(min=1), default=3, metavar="K", help="Number of NameServers [3].")
@option("--from", "start", default=_FIRST_DAY, metavar="TIME", help=f"Start of the simulation, in UTC [{_FIRST_DAY}].")
@_scenario_options(_DEFAULT_SIMULATION)
@json_option
def simulate(
    *,
    out: Path,
    days: float,
    nameservers: int,
    start: str,
    scenario: "Scenario",
    seed: int,
    as_json: bool,
) -> int:
    """Simulate days of a fleet in virtual time.

    Writes the journals of the NameServers, and truth.jsonl with every injected fault.
    """
    from routebook.fleet.virtual.simulation import Simulation

    simulation = Simulation(
        scenario,
        days=days,
        seed=seed,
        nameservers=nameservers,
        start_ms=parse_time(start, "--from"),
        out=out.expanduser(),
    )
    if sys.stderr.isatty() and not as_json:
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("simulating", total=1.0)
            report = simulation.run(lambda done: progress.update(task, completed=done))
    else:
        report = simulation.run()
    if as_json:
        print_json(report)
    else:
        _print_simulation(report, out)
    return EXIT_OK


@fleet.command("scenarios")
@json_option
def scenarios(*, as_json: bool) -> int:
    """List the included scenarios."""
    from routebook.fleet.scenario import load_scenario, shipped_names

    found = [load_scenario(name) for name in shipped_names()]
    if as_json:
        print_json([{"name": one.name, "about": one.about, "duration_s": one.duration / 1000} for one in found])
    else:
        rows = [(one.name, f"{one.duration // 60_000} min", one.about) for one in found]
        print_table(("scenario", "duration", "about"), rows)
    return EXIT_OK


def _run(running: "FleetRun", *, is_watched: bool) -> "FleetReport":
    """Run to the end, or until a signal: the first SIGINT stops in order, the second at once."""
    import asyncio
    import signal

    async def work() -> "FleetReport":
        loop = asyncio.get_running_loop()

        def stop() -> None:
            running.stop()
            loop.remove_signal_handler(signal.SIGINT)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        if not is_watched:
            return await running.run()
        from rich.console import Console

        from routebook.fleet.live.view import FleetView

        showing = asyncio.create_task(FleetView(running, Console()).show())
        try:
            return await running.run()
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)

    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(work())
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work())


def _print_fault(fault: "FaultRecord") -> None:
    duration = f" for {fault.lasts_s:g} s" if fault.lasts_s else ""
    print_line(f"{fault.at_s:>7.1f} s  {fault.kind}: {fault.target}{duration}")
    sys.stdout.flush()


def _save(path: Path, report: "FleetReport") -> None:
    import msgspec

    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror or error}") from None


def _print_simulation(report: "SimulationReport", out: Path) -> None:
    mib = 1024 * 1024
    faults = ", ".join(f"{count} {kind}" for kind, count in report.incidents.items()) or "none"
    print_line(
        f"{report.scenario}: {report.days:g} days of {report.brokers} brokers, {report.topics} topics and "
        f"{report.clients} clients (seed {report.seed})"
    )
    print_line(f"faults     {faults}" + (f"; {report.left_out} omitted" if report.left_out else ""))
    for name, records in report.records.items():
        print_line(f"journal    {out / name}: {records} records")
    print_line(f"truth      {out / 'truth.jsonl'}")
    print_line(f"on disk    {report.disk_bytes / mib:.1f} MiB, as text {report.text_bytes / mib:.1f} MiB")


def _duration(text: str) -> int:
    from routebook.fleet.scenario import parse_duration

    try:
        return int(parse_duration(text))
    except ValueError as error:
        raise UsageError(f"--duration: {error}") from None
