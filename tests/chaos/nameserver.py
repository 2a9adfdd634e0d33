"""A NameServer process behind a proxy, on a disk of its own, with faults that can be switched while it runs."""

import asyncio
import contextlib
import os
import resource
import signal
from pathlib import Path
from typing import Final

from tests.chaos.proxy import Proxy
from tests.support.free_ports import free_port
from tests.support.process import Process
from tests.support.small_disk import SmallDisk

INJECT: Final = Path(__file__).parent / "inject"
TIMEOUT_S: Final = 4.0
SETTINGS: Final = {
    "routebook.journal.snapshotSeconds": 3,
    "routebook.journal.segmentMegabytes": 1,
    "routebook.recoveredLeaseSeconds": int(TIMEOUT_S),
    # mass-expiry protection would keep routes of stopped brokers; it is not under test here
    "routebook.preservation.enabled": "false",
    "scanNotActiveBrokerInterval": 500,
}
SCAN_S: Final = 0.5


class ChaosNameServer:
    """The process, its home, and its fault switches."""

    def __init__(self, name: str, disk: SmallDisk) -> None:
        self.name = name
        self.disk = disk
        self.home = disk.path / "home"
        self.switches = disk.path.parent / f"{name}-switches"
        self.switches.mkdir()
        self.port = free_port()
        self.proxy = Proxy(("127.0.0.1", self.port))
        self.starts = 0
        self.deaths = 0  # unexpected exits
        self.process = self._start()

    def _start(self) -> Process:
        self.starts += 1
        environment = {"PYTHONPATH": str(INJECT), "CHAOS_FOLDER": str(self.switches)}
        defined = [f"-D{key}={value}" for key, value in SETTINGS.items()]
        listen = f"127.0.0.1:{self.port}"
        process = Process(
            "serve", "--home", str(self.home), "--listen", listen, "--http", "off", *defined, environment=environment
        )
        try:
            process.wait_until_listening()
        except BaseException:
            process.kill()
            raise
        return process

    async def restart(self) -> None:
        """Start the process if it has exited."""
        if self.process.exit_code is not None:
            await asyncio.to_thread(self.process.kill)
            self.process = await asyncio.to_thread(self._start)

    def kill(self) -> None:
        self.process.kill()

    def send(self, number: signal.Signals) -> None:
        self.process.send(number)

    def inject(self, fault: str, value: float) -> None:
        """Set the fault `clock` or `fsync`, see inject/sitecustomize.py."""
        file = self.switches / f"{fault}.tmp"
        file.write_text(str(value))
        file.rename(self.switches / fault)

    def limit(self, what: int, limit: int | None) -> None:
        """Set a resource limit of the running process; None: the limit of this process."""
        with contextlib.suppress(ProcessLookupError):
            _, hard = resource.getrlimit(what)
            resource.prlimit(self.process.pid, what, (hard if limit is None else limit, hard))

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))  # noqa: PTH208  numbers are enough

    def virtual_bytes(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[0]) * resource.getpagesize()
