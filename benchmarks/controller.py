"""Measures Routebook's Controller beside Java's 5.5.0: latency, CPU with many brokers.

    python -m benchmarks.controller [--only latency|heartbeats] [--writes 3000] [--sets 1000]

latency     one connection, one request after the other: a committed write (1013 of a new set) and a read (1004)
heartbeats  SETS broker sets of 3 replicas: each sends 904 every second, 1004 every 5 s and 1005 every 10 s, as brokers
            do, over a connection of its own; prints the CPU time of the Controller per second

Both run in own processes on loopback, one node each, Java with the flags of the tests (-Xmx128m, one compiler tier).
Routebook's write is on disk before its answer, Java's is not.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from tests.support.controllers import (
    controller_settings,
    free_address,
    java_controller_process,
    routebook_process,
)
from tests.support.remoting_frames import Link, Request

REPLICAS = 3
MEASURED_S = 20
SETTLE_S = 5
CLUSTER = "C1"


class Controller(NamedTuple):
    """A running Controller."""

    name: str
    address: tuple[str, int]
    pid: int

    def cpu_s(self) -> float:
        """CPU time that the process has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def controllers(folder: Path) -> Iterator[list[Controller]]:
    """Java's and Routebook's, without a NameServer."""
    with ExitStack() as stack:
        made = []
        for name in ("java", "routebook"):
            address, home = free_address(), folder / name
            settings = controller_settings(address, home)
            if name == "java":
                pid = stack.enter_context(java_controller_process(home, settings)).process.pid
            else:
                pid = stack.enter_context(routebook_process(home, "controller", settings)).pid
            host, _, port = address.rpartition(":")
            made.append(Controller(name, (host, int(port)), pid))
        yield made


# --- latency ----------------------------------------------------------------------------------------------------------


def apply_id(name: str, number: int) -> Request:
    fields = {
        "clusterName": CLUSTER,
        "brokerName": name,
        "appliedBrokerId": str(number),
        "registerCheckCode": f"127.0.0.1:{10_000 + number};7",
    }
    return Request(code=1013, ext=fields)


def measure_latency(folder: Path, writes: int) -> None:
    """In turns of a few hundred requests, so that both see the same load of the machine."""
    took: dict[tuple[str, str], list[float]] = {}
    with controllers(folder) as made, ExitStack() as stack:
        links = {one.name: stack.enter_context(Link(one.address)) for one in made}
        turn = 250
        for start in range(-1000, writes, turn):
            for name, link in links.items():
                written = [_timed(link, apply_id(f"set-{n}", 1)) for n in range(start, start + turn)]
                read = [
                    _timed(link, Request(code=1004, ext={"brokerName": f"set-{n}"})) for n in range(start, start + turn)
                ]
                if start >= 0:  # the first thousand warm up
                    took.setdefault((name, "write (1013)"), []).extend(written)
                    took.setdefault((name, "read (1004)"), []).extend(read)
    for (name, what), seconds in sorted(took.items(), key=lambda row: row[0][1]):
        p99 = quantiles(seconds, n=100)[98]
        print(f"{what:<12} {name:<10} p50 {median(seconds) * 1000:.2f} ms, p99 {p99 * 1000:.2f} ms", flush=True)


def _timed(link: Link, request: Request) -> float:
    began = time.perf_counter()
    reply = link.ask(request)
    took = time.perf_counter() - began
    assert reply.code == 0, reply
    return took


# --- heartbeats -------------------------------------------------------------------------------------------------------


class Replica:
    """One broker with a connection of its own."""

    def __init__(self, controller: Controller, name: str, number: int) -> None:
        self._controller = controller
        self._name = name
        self._number = number

    async def join(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(*self._controller.address)
        self._writer.write(apply_id(self._name, self._number).encode())
        length = await self._reader.readexactly(4)
        await self._reader.readexactly(int.from_bytes(length, "big"))
        self._discarding = asyncio.create_task(self._discard())

    async def live(self, phase: int) -> None:
        """Send what a broker sends, until cancelled; `phase` spreads the brokers over time."""
        fields = {
            "clusterName": CLUSTER,
            "brokerName": self._name,
            "brokerAddr": f"127.0.0.1:{10_000 + self._number}",
            "brokerId": str(self._number),
            "epoch": "1",
            "maxOffset": "1",
            "heartbeatTimeoutMills": "10000",
        }
        beat = Request(code=904, ext=fields, flag=2).encode()
        poll = Request(code=1004, ext={"brokerName": self._name}).encode()
        metadata = Request(code=1005).encode()
        await asyncio.sleep(phase % 1000 / 1000)
        for second in count(phase):
            self._writer.write(beat + (poll if second % 5 == 0 else b"") + (metadata if second % 10 == 0 else b""))
            await asyncio.sleep(1)

    def close(self) -> None:
        self._discarding.cancel()
        self._writer.close()

    async def _discard(self) -> None:
        while await self._reader.read(1 << 16):
            pass


async def _load(controller: Controller, sets: int) -> tuple[float, int]:
    """The CPU time per second while all heartbeats arrive, and the number of live brokers in the last set."""
    replicas = []
    for number in range(1, REPLICAS + 1):
        joining = [Replica(controller, f"set-{index}", number) for index in range(sets)]
        for start in range(0, sets, 100):
            await asyncio.gather(*(replica.join() for replica in joining[start : start + 100]))
        replicas += joining
    lives = [asyncio.create_task(replica.live(phase)) for phase, replica in enumerate(replicas)]
    await asyncio.sleep(SETTLE_S)
    before = controller.cpu_s(), time.monotonic()
    await asyncio.sleep(MEASURED_S)
    used = (controller.cpu_s() - before[0]) / (time.monotonic() - before[1])
    alive = await asyncio.to_thread(_alive_in_the_last_set, controller, sets)
    for task in lives:
        task.cancel()
    await asyncio.gather(*lives, return_exceptions=True)
    for replica in replicas:
        replica.close()
    return used, alive


def _alive_in_the_last_set(controller: Controller, sets: int) -> int:
    with Link(controller.address) as link:
        return link.ask(Request(code=1006, body=f'["set-{sets - 1}"]'.encode())).body.count(b'"alive":true')


def measure_heartbeats(folder: Path, sets: int) -> None:
    with controllers(folder) as made:
        for controller in made:
            used, alive = asyncio.run(_load(controller, sets))
            figures = f"{used:.2f} cores; {alive} of {REPLICAS} alive in the last set"
            print(f"heartbeats {controller.name:<10} {sets} sets x {REPLICAS}: {figures}", flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--only", choices=("latency", "heartbeats"))
    options.add_argument("--writes", type=int, default=3000)
    options.add_argument("--sets", type=int, default=1000)
    chosen = options.parse_args()
    measured: dict[str, Callable[[Path], None]] = {
        "latency": lambda folder: measure_latency(folder, chosen.writes),
        "heartbeats": lambda folder: measure_heartbeats(folder, chosen.sets),
    }
    print(f"load average before: {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, measure in measured.items():
            if chosen.only in (None, name):
                measure(Path(folder) / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
