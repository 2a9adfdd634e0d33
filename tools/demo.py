"""`make demo`: runs two NameServers, a simulated fleet with faults, and a lake if Spark is installed, until ctrl-c."""

import argparse
import asyncio
import contextlib
import re
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from routebook.client.addresses import Address, parse_addresses
from routebook.fleet.live.report import FaultRecord, format_report
from routebook.fleet.live.run import FleetRun
from routebook.fleet.live.view import FleetView
from routebook.fleet.scenario import load_scenario

_SCENARIO: Final = "demo"
_START_S: Final = 30.0
_STOP_S: Final = 20.0
_LISTENING: Final = re.compile(r"listening on (\S+) \((\w+)\)")


class DemoError(RuntimeError):
    """A process of the demo did not start; the message contains its output."""


class Process:
    """A `routebook` process of the demo.

    `addresses` are its listeners by name (nameserver, http), `options` the option that sets each of them. A restart
    uses the same addresses.
    """

    def __init__(self, *arguments: str, options: Mapping[str, str], addresses: Mapping[str, str]) -> None:
        self._arguments = arguments
        self._options = options
        self._process: asyncio.subprocess.Process | None = None
        self._drain: asyncio.Task[None] | None = None
        self.addresses: dict[str, str] = dict(addresses)

    async def start(self) -> None:
        """Start and wait until all listeners are open. Raises DemoError."""
        listen = [word for name, option in self._options.items() for word in (option, self.addresses[name])]
        wanted, self.addresses = self.addresses, {}
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "routebook", *self._arguments, *listen),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,  # ctrl-c goes to the demo only, which then stops its processes
        )
        assert self._process.stdout is not None
        printed: list[str] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_S):
                while self.addresses.keys() != wanted.keys() and (line := await self._process.stdout.readline()):
                    printed.append(line.decode(errors="replace"))
                    if found := _LISTENING.search(printed[-1]):
                        self.addresses[found[2]] = found[1]
        if self.addresses.keys() != wanted.keys():
            await self.stop()
            raise DemoError(f"routebook {' '.join(self._arguments)} did not start:\n{''.join(printed)}")
        self._drain = asyncio.create_task(_discard(self._process.stdout))

    async def stop(self) -> None:
        """Stop with SIGTERM, and with SIGKILL if that takes too long."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), _STOP_S)
        except TimeoutError:
            process.kill()
            await process.wait()
        if self._drain is not None:
            await self._drain


async def _discard(stream: asyncio.StreamReader) -> None:
    while await stream.read(1 << 16):
        pass


class Demo:
    """The NameServers, the fleet and the lake, in one folder."""

    def __init__(
        self, folder: Path, *, duration_ms: int | None = None, show_view: bool = True, with_lake: bool = False
    ) -> None:
        self._duration_ms = duration_ms
        self._show_view = show_view
        self._stop = asyncio.Event()
        self.nameservers = [
            Process(
                *("serve", "--home", str(folder / f"ns-{number}")),
                options={"nameserver": "--listen", "http": "--http"},
                addresses={
                    "nameserver": f"127.0.0.1:{_port(9875 + number)}",
                    "http": f"127.0.0.1:{_port(8875 + number)}",
                },
            )
            for number in (1, 2)
        ]
        self._lake = folder / "lake" if with_lake else None
        self.followers = [_lake_process(folder, [folder / f"ns-{number}" for number in (1, 2)])] if with_lake else []

    def stop(self) -> None:
        """End the demo."""
        self._stop.set()

    async def run(self) -> None:
        """Run until the duration is over or `stop` is called."""
        started: list[Process] = []
        try:
            for process in (*self.nameservers, *self.followers):
                started.append(process)
                await process.start()
            for line in self._instructions():
                _print(line)
            await self._run_fleet()
        finally:
            for process in reversed(started):
                await process.stop()

    def _instructions(self) -> Sequence[str]:
        addresses = [process.addresses for process in self.nameservers]
        nameservers = [where["nameserver"] for where in addresses]
        return [
            "",
            *(
                f"NameServer {number}  {where['nameserver']}   http://{where['http']}/"
                for number, where in enumerate(addresses, 1)
            ),
            "",
            f"  routebook brokers -n '{';'.join(nameservers)}'",
            f"  routebook diff {' '.join(nameservers)}",
            f"  curl -N http://{addresses[0]['http']}/v1/events",
            *self._lake_instructions(),
            "",
            "Press ctrl-c to stop.",
            "",
        ]

    def _lake_instructions(self) -> Sequence[str]:
        if self._lake is None:
            return ()
        return (
            "",
            "  after some minutes, when the first lake build is done:",
            f"  routebook lake report --lake {self._lake}",
        )

    async def _run_fleet(self) -> None:
        run = FleetRun(
            load_scenario(_SCENARIO),
            self._addresses(),
            seed=1,
            duration_ms=self._duration_ms,
            restart=self._restart,
            on_fault=None if self._show_view else _print_fault,
        )
        tasks = [asyncio.create_task(self._stop_when_asked(run))]
        if self._show_view:
            tasks.append(asyncio.create_task(_show(run)))
        try:
            report = await run.run()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for line in format_report(report):
            _print(line)

    async def _stop_when_asked(self, run: FleetRun) -> None:
        await self._stop.wait()
        run.stop()

    def _addresses(self) -> tuple[Address, ...]:
        return parse_addresses([process.addresses["nameserver"] for process in self.nameservers])

    async def _restart(self, number: int, lasts_s: float) -> None:
        """Stop a NameServer for a while; it starts again at the same addresses with its routes."""
        process = self.nameservers[number]
        await process.stop()
        await asyncio.sleep(lasts_s)
        await process.start()


def _lake_process(folder: Path, homes: Sequence[Path]) -> Process:
    """Follow the journals of all NameServers. If it fails, the demo continues without it."""
    journals = [word for home in homes for word in ("--journal", str(home / "journal"))]
    return Process("lake", "follow", *journals, "--lake", str(folder / "lake"), options={}, addresses={})


async def _show(run: FleetRun) -> None:
    from rich.console import Console  # noqa: PLC0415 - only in a terminal

    await FleetView(run, Console()).show()


def _print_fault(fault: FaultRecord) -> None:
    _print(f"{fault.at_s:>7.1f} s  {fault.kind}: {fault.target}")


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _port(wanted: int) -> int:
    """Return the usual port if it is free, else 0 for any free port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
    return wanted


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.demo", description="Run two NameServers and a simulated fleet with faults."
    )
    parser.add_argument("--seconds", type=float, help="duration; default: until ctrl-c, at most one hour")
    parser.add_argument("--no-lake", action="store_true", help="run without the lake, even if Spark is installed")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder for journals and lake, kept after the demo")
    options = parser.parse_args(arguments)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="routebook-demo-"))
    duration_ms = None if options.seconds is None else int(options.seconds * 1000)
    try:
        with_lake = not options.no_lake and find_spec("pyspark") is not None
        asyncio.run(_demo(folder, duration_ms, with_lake=with_lake))
    except DemoError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        if options.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


async def _demo(folder: Path, duration_ms: int | None, *, with_lake: bool) -> None:
    demo = Demo(folder, duration_ms=duration_ms, show_view=sys.stdout.isatty(), with_lake=with_lake)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, demo.stop)
    await demo.run()


if __name__ == "__main__":
    sys.exit(main())
