"""`make demo`: two NameServers and a fleet with faults in one command, until ctrl-c; prints where to look.

Parts that are to follow the NameServers (a lake, a console) are further `Part`s: started after them, told of in the
list of places, and stopped before them.
"""

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
    """A part of the demo did not start; the message shows what it printed."""


class Part:
    """A `routebook` process of the demo. `places` are the addresses it listens on, by what listens there.

    `listens` are the options that say where, by the same; once it has listened somewhere, it does so again.
    """

    def __init__(self, *arguments: str, listens: Mapping[str, str], places: Mapping[str, str]) -> None:
        self._arguments = arguments
        self._listens = listens
        self._process: asyncio.subprocess.Process | None = None
        self._drain: asyncio.Task[None] | None = None
        self.places: dict[str, str] = dict(places)

    async def start(self) -> None:
        """Returns when it listens wherever it is to listen."""
        where = [word for what, option in self._listens.items() for word in (option, self.places[what])]
        wanted, self.places = self.places, {}
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "routebook", *self._arguments, *where),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,  # ctrl-c is for the demo, which then ends its parts in order
        )
        assert self._process.stdout is not None
        printed: list[str] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_S):
                while self.places.keys() != wanted.keys() and (line := await self._process.stdout.readline()):
                    printed.append(line.decode(errors="replace"))
                    if found := _LISTENING.search(printed[-1]):
                        self.places[found[2]] = found[1]
        if self.places.keys() != wanted.keys():
            await self.stop()
            raise DemoError(f"routebook {' '.join(self._arguments)} did not start:\n{''.join(printed)}")
        self._drain = asyncio.create_task(_read_away(self._process.stdout))

    async def stop(self) -> None:
        """In order, by force if it takes too long."""
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


async def _read_away(stream: asyncio.StreamReader) -> None:
    while await stream.read(1 << 16):
        pass


class Demo:
    """All of it, in one folder."""

    def __init__(
        self, folder: Path, *, duration_ms: int | None = None, watched: bool = True, with_lake: bool = False
    ) -> None:
        self._duration_ms = duration_ms
        self._watched = watched
        self._stop = asyncio.Event()
        self.nameservers = [
            Part(
                *("serve", "--home", str(folder / f"ns-{number}")),
                listens={"nameserver": "--listen", "http": "--http"},
                places={
                    "nameserver": f"127.0.0.1:{_port(9875 + number)}",
                    "http": f"127.0.0.1:{_port(8875 + number)}",
                },
            )
            for number in (1, 2)
        ]
        self._lake = folder / "lake" if with_lake else None
        self.followers = [_lake_of(folder, [folder / f"ns-{number}" for number in (1, 2)])] if with_lake else []

    def stop(self) -> None:
        """End it, in order."""
        self._stop.set()

    async def run(self) -> None:
        """Until its time is over, or `stop`."""
        parts = [*self.nameservers, *self.followers]
        started: list[Part] = []
        try:
            for part in parts:
                started.append(part)
                await part.start()
            for line in self.where_to_look():
                _say(line)
            await self._play()
        finally:
            for part in reversed(started):
                await part.stop()

    def where_to_look(self) -> Sequence[str]:
        """For people."""
        addresses = ";".join(part.places["nameserver"] for part in self.nameservers)
        lines = [""]
        for number, part in enumerate(self.nameservers, 1):
            lines.append(f"NameServer {number}  {part.places['nameserver']}   http://{part.places['http']}/")
        lines += [
            "",
            f"  routebook brokers -n '{addresses}'",
            f"  routebook diff {addresses.replace(';', ' ')}",
            f"  curl -N http://{self.nameservers[0].places['http']}/v1/events",
            *self._of_lake(),
            "",
            "ctrl-c ends it.",
            "",
        ]
        return lines

    def _of_lake(self) -> Sequence[str]:
        if self._lake is None:
            return ()
        return (
            "",
            "  after some minutes, when the lake has its first build:",
            f"  routebook lake report --lake {self._lake}",
        )

    async def _play(self) -> None:
        run = FleetRun(
            load_scenario(_SCENARIO),
            self._addresses(),
            seed=1,
            duration_ms=self._duration_ms,
            restart=self._restart,
            on_fault=None if self._watched else _tell,
        )
        stopping = asyncio.create_task(self._stop_run(run))
        showing = asyncio.create_task(_show(run)) if self._watched else None
        try:
            report = await run.run()
        finally:
            for task in filter(None, (stopping, showing)):
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        for line in format_report(report):
            _say(line)

    async def _stop_run(self, run: FleetRun) -> None:
        await self._stop.wait()
        run.stop()

    def _addresses(self) -> tuple[Address, ...]:
        return parse_addresses([part.places["nameserver"] for part in self.nameservers])

    async def _restart(self, number: int, lasts_s: float) -> None:
        """A NameServer is gone for a while, and comes back at the same addresses with what it remembers."""
        part = self.nameservers[number]
        await part.stop()
        await asyncio.sleep(lasts_s)
        await part.start()


def _lake_of(folder: Path, homes: Sequence[Path]) -> Part:
    """The lake over the journals of all NameServers. If it fails, the rest of the demo goes on without it."""
    journals = [word for home in homes for word in ("--journal", str(home / "journal"))]
    return Part("lake", "follow", *journals, "--lake", str(folder / "lake"), listens={}, places={})


async def _show(run: FleetRun) -> None:
    from rich.console import Console  # noqa: PLC0415 - only where somebody looks

    await FleetView(run, Console()).show()


def _tell(fault: FaultRecord) -> None:
    _say(f"{fault.at_s:>7.1f} s  {fault.kind}: {fault.target}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _port(wanted: int) -> int:
    """The usual one, if it is free; else whichever is."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
    return wanted


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="routebook-demo", description="Two NameServers and a fleet with faults.")
    parser.add_argument("--seconds", type=float, help="how long [until ctrl-c, at most an hour]")
    parser.add_argument("--no-lake", action="store_true", help="without the lake [with it, where Spark is installed]")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what the NameServers write there")
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
    demo = Demo(folder, duration_ms=duration_ms, watched=sys.stdout.isatty(), with_lake=with_lake)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, demo.stop)
    await demo.run()


if __name__ == "__main__":
    sys.exit(main())
