"""`routebook fleet run|simulate|scenarios`: a make-believe fleet, over TCP or in virtual time."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from routebook.cli.environment import ACCESS_KEY, SECRET_KEY
from routebook.cli.nameservers import Connecting
from routebook.cli.output import print_json, print_table, say
from routebook.cli.times import parse_time
from routebook.errors import UsageError

if TYPE_CHECKING:
    from routebook.fleet.live.report import FaultRecord, FleetReport
    from routebook.fleet.live.run import FleetRun
    from routebook.fleet.scenario import Scenario
    from routebook.fleet.virtual.simulation import SimulationReport

app = typer.Typer(
    name="fleet",
    help="A make-believe fleet: run it over TCP, or simulate months of it.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_ORDINARY = "quiet-day"
_EVENTFUL = "eventful-days"
_FIRST_DAY = "2026-01-01T00:00"

ScenarioName = Annotated[
    str, typer.Option("--scenario", "-s", metavar="NAME|FILE", help="one of `fleet scenarios`, or a .toml file")
]
Brokers = Annotated[int | None, typer.Option("--brokers", min=1, metavar="N", help="instead of the scenario's")]
Topics = Annotated[int | None, typer.Option("--topics", min=0, metavar="T", help="instead of the scenario's")]
Clients = Annotated[int | None, typer.Option("--clients", min=0, metavar="C", help="instead of the scenario's")]
Seed = Annotated[int, typer.Option("--seed", metavar="S", help="the same seed, the same fleet and faults")]
Json = Annotated[bool, typer.Option("--json", help="the report as one JSON document, and nothing else")]


@app.command("run")
def run_command(
    scenario: ScenarioName = _ORDINARY,
    nameserver: Annotated[
        str | None,
        typer.Option(
            "-n", "--nameserver", metavar="LIST", help="HOST:PORT[;HOST:PORT] [NAMESRV_ADDR, or the local one]"
        ),
    ] = None,
    duration: Annotated[str | None, typer.Option(metavar="TIME", help="as 90s or 1h, not the scenario's")] = None,
    brokers: Brokers = None,
    topics: Topics = None,
    clients: Clients = None,
    seed: Seed = 1,
    time_scale: Annotated[float, typer.Option(metavar="X", help="all of it X times as fast")] = 1.0,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="write the report there, too, as JSON")] = None,
    access_key: Annotated[str | None, typer.Option(metavar="KEY", help=f"sign requests [{ACCESS_KEY}]")] = None,
    secret_key: Annotated[str | None, typer.Option(metavar="KEY", help=f"better in {SECRET_KEY}")] = None,
    as_json: Json = False,
) -> int:
    """Run brokers and clients against NameServers, Java's or Routebook's, with faults; ctrl-c ends it in order."""
    from routebook.client.addresses import addresses_from_environment, parse_addresses
    from routebook.fleet.live.report import format_report
    from routebook.fleet.live.run import FleetRun

    played = _load(scenario, brokers, topics, clients)
    addresses = parse_addresses(nameserver) if nameserver is not None else addresses_from_environment()
    running = FleetRun(
        played,
        addresses or parse_addresses("127.0.0.1:9876"),
        seed=seed,
        duration_ms=None if duration is None else _duration(duration),
        scale=time_scale,
        on_fault=None if as_json or _is_watched() else _tell,
        credentials=Connecting(access_key=access_key, secret_key=secret_key).credentials(),
    )
    report = _play(running, watched=_is_watched() and not as_json)
    if out is not None:
        _save(out, report)
    if as_json:
        print_json(report)
    else:
        for line in format_report(report):
            say(line)
    return 0


@app.command("simulate")
def simulate_command(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="an empty folder, or a new one")],
    days: Annotated[float, typer.Option(metavar="D", help="how many")] = 1.0,
    scenario: ScenarioName = _EVENTFUL,
    nameservers: Annotated[int, typer.Option(min=1, metavar="K", help="each with a journal of its own")] = 3,
    brokers: Brokers = None,
    topics: Topics = None,
    clients: Clients = None,
    seed: Seed = 1,
    start: Annotated[str, typer.Option("--from", metavar="TIME", help="when it begins, in UTC")] = _FIRST_DAY,
    as_json: Json = False,
) -> int:
    """Simulate days of a fleet: writes the journals that NameServers would have written, and the truth about faults."""
    from routebook.fleet.virtual.simulation import Simulation

    played = _load(scenario, brokers, topics, clients)
    simulation = Simulation(
        played,
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
    return 0


@app.command("scenarios")
def scenarios_command(as_json: Json = False) -> int:
    """Tell which scenarios there are."""
    from routebook.fleet.scenario import load_scenario, shipped_names

    found = [load_scenario(name) for name in shipped_names()]
    if as_json:
        print_json([{"name": one.name, "about": one.about, "duration_s": one.duration / 1000} for one in found])
        return 0
    print_table(
        ("scenario", "lasts", "about"), [(one.name, f"{one.duration // 60_000} min", one.about) for one in found]
    )
    return 0


def _load(name: str, brokers: int | None, topics: int | None, clients: int | None) -> "Scenario":
    from routebook.fleet.scenario import load_scenario

    return load_scenario(name).sized(brokers=brokers, topics=topics, clients=clients)


def _play(running: "FleetRun", *, watched: bool) -> "FleetReport":
    """Until its time is over, or somebody presses ctrl-c: the first ends it in order, the second at once."""
    import asyncio
    import signal

    async def play() -> "FleetReport":
        loop = asyncio.get_running_loop()

        def stop() -> None:
            running.stop()
            loop.remove_signal_handler(signal.SIGINT)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        if not watched:
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
        return asyncio.run(play())
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(play())


def _is_watched() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _tell(fault: "FaultRecord") -> None:
    lasts = f" for {fault.lasts_s:g} s" if fault.lasts_s else ""
    say(f"{fault.at_s:>7.1f} s  {fault.kind}: {fault.target}{lasts}")
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
    say(
        f"{report.scenario}: {report.days:g} days of {report.brokers} brokers, {report.topics} topics and "
        f"{report.clients} clients (seed {report.seed})"
    )
    say(f"faults     {faults}" + (f"; {report.left_out} left out" if report.left_out else ""))
    for name, records in report.records.items():
        say(f"journal    {out / name}: {records} records")
    say(f"truth      {out / 'truth.jsonl'}")
    say(f"on disk    {report.disk_bytes / mib:.1f} MiB, as text {report.text_bytes / mib:.1f} MiB")


def _duration(text: str) -> int:
    from routebook.fleet.scenario import parse_duration

    try:
        return int(parse_duration(text))
    except ValueError as error:
        _refuse(f"--duration: {error}")


def _refuse(why: str) -> NoReturn:
    raise UsageError(why)
