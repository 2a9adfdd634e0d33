"""Runs the demo: two NameServers that are peers, a lake of both journals, and a live fleet with faults."""

import asyncio
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from routebook.client.addresses import Address, parse_addresses
from routebook.client.signing import Credentials
from routebook.demo.past import SEED, home_of
from routebook.demo.process import Process
from routebook.fleet.live.report import FaultRecord, FleetReport
from routebook.fleet.live.run import FleetRun
from routebook.fleet.scenario import Scenario
from routebook.server.state.atomic_file import write_atomically

_LISTENERS: Final = frozenset({"nameserver", "http"})
OPERATOR: Final = "operator"
_IDENTITIES: Final = """\
anonymous = ["route_read"]

[[identity]]
name = "{name}"
secret = "{secret}"
access = ["admin_write", "broker_control"]
"""


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of one NameServer, HOST:PORT."""

    nameserver: str
    http: str


class Demo:
    """All processes of the demo in `folder`, whose home folders exist."""

    def __init__(self, folder: Path, scenario: Scenario, ports: tuple[Ports, Ports], *, with_lake: bool) -> None:
        self.ports = ports
        self.secret = secrets.token_urlsafe(9)
        self.lake = home_of(folder, 1) / "lake"
        self._scenario = scenario
        self._folder = folder
        self._stopping = asyncio.Event()
        own = ("up", "--journal", str(home_of(folder, 2) / "journal")) if with_lake else ("serve",)
        self._nameservers = [self._process(1, own), self._process(2, ("serve",))]

    def stop(self) -> None:
        """End the demo."""
        self._stopping.set()

    async def run(
        self,
        *,
        on_started: Callable[[], None],
        on_fault: Callable[[FaultRecord], None] | None,
        on_fleet: Callable[[FleetRun], None],
        duration_ms: int | None,
    ) -> FleetReport | None:
        """Run until the duration is over or `stop` is called. None if it was stopped before the fleet started."""
        self._write_settings()
        starting = asyncio.gather(*(process.start() for process in self._nameservers))
        try:
            if not await self._unless_stopped(starting):
                return None
            on_started()
            run = FleetRun(
                self._scenario,
                self.addresses,
                seed=SEED,
                duration_ms=duration_ms,
                restart=self._restart,
                on_fault=on_fault,
                credentials=self.credentials,
            )
            on_fleet(run)
            running = asyncio.create_task(run.run())
            await self._unless_stopped(running)
            run.stop()
            return await running
        finally:
            await asyncio.gather(*(process.stop() for process in self._nameservers))

    @property
    def addresses(self) -> tuple[Address, ...]:
        return parse_addresses([port.nameserver for port in self.ports])

    @property
    def credentials(self) -> Credentials:
        return Credentials(access_key=OPERATOR, secret_key=self.secret)

    async def _unless_stopped(self, work: "asyncio.Future[Any]") -> bool:
        """Wait for `work` or for `stop`; whether the work is done."""
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
        if work.done():
            work.result()
        return work.done()

    def _process(self, number: int, command: tuple[str, ...]) -> Process:
        ports = self.ports[number - 1]
        where = ("--listen", ports.nameserver, "--http", ports.http)
        return Process(*command, "--home", str(home_of(self._folder, number)), *where, listeners=_LISTENERS)

    def _write_settings(self) -> None:
        """Write the identities and, for each NameServer, a settings file that names the other one as its peer."""
        identities = self._folder / "identities.toml"
        write_atomically(identities, _IDENTITIES.format(name=OPERATOR, secret=self.secret).encode())
        identities.chmod(0o600)
        for number, peer in ((1, self.ports[1]), (2, self.ports[0])):
            settings = {
                "routebook.auth.file": str(identities),
                "routebook.peers": f"{peer.nameserver}/{peer.http.rpartition(':')[2]}",
                "routebook.peers.accessKey": OPERATOR,
                "routebook.peers.secretKey": self.secret,
                "routebook.peers.intervalSeconds": "5",
                "routebook.peers.divergedSeconds": "15",
            }
            file = home_of(self._folder, number) / "namesrv.properties"
            write_atomically(file, "".join(f"{key}={value}\n" for key, value in settings.items()).encode())
            file.chmod(0o600)
        lake = home_of(self._folder, 2) / "lake"
        if not lake.is_symlink():  # both consoles show the lake of both journals
            lake.symlink_to(self.lake, target_is_directory=True)

    async def _restart(self, number: int, lasts_s: float) -> None:
        """Stop a NameServer for a while; it starts again at the same addresses with its routes."""
        process = self._nameservers[number]
        await process.stop()
        await asyncio.sleep(lasts_s)
        await process.start()


def choose_ports(listen: str | None, http: str | None, *, default: Ports) -> tuple[Ports, Ports]:
    """The addresses of both NameServers; the second has the next ports.

    A default port that is in use is replaced by a free one. A port that was asked for stays, and the start fails if it
    is in use.
    """
    nameservers = _pair(listen, default.nameserver)
    https = _pair(http, default.http)
    first, second = zip(nameservers, https, strict=True)
    return Ports(nameserver=first[0], http=first[1]), Ports(nameserver=second[0], http=second[1])


def _pair(wanted: str | None, default: str) -> tuple[str, str]:
    host, _, port = (wanted or default).rpartition(":")
    return tuple(  # type: ignore[return-value]  # two of them
        f"{host}:{number if wanted else _free_port(number)}" for number in (int(port), int(port) + 1)
    )


def _free_port(wanted: int) -> int:
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    return wanted
