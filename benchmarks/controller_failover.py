"""Measures failover with Routebook's Controller beside Java's 5.5.0, and prints a table of medians.

    python -m benchmarks.controller_failover [--only master|notice|leader] [--rounds 7] [--notices 300]

master  one Controller, a pair of real brokers: kill -9 of the master until the other broker accepts a write
notice  one Controller, simulated brokers: the master's connection closes until 1008 arrives at the other broker
leader  three Controllers, Routebook's on etcd, Java's on DLedger: kill -9 of the leader until another node commits
        a write; of the leader and the master of a pair together until the other broker is notified that it is the
        master. Brokers are simulated with a real broker's intervals.

Both kinds run at the same time on loopback and take turns.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol

from benchmarks.suite.master_failover import Figures, measure_notices, measure_pairs
from tests.chaos.controller.broker import Broker, Pace
from tests.chaos.controller.connection import Connection
from tests.chaos.controller.history import History
from tests.support.etcd import etcd_cluster
from tests.support.free_ports import free_port
from tests.support.process import Process

SIZE: Final = 3
NEXT_WRITE: Final = "leader killed until the next committed write"
OTHER_IS_MASTER: Final = "leader and master killed until the other broker is notified"
REAL_PACE: Final = Pace(beat_s=1.0, beat_timeout_s=10.0, metadata_s=10.0, poll_s=5.0)
WARM_UP_S: Final = 11.0  # a controller that has started knows all brokers after a heartbeat timeout
WAIT_S: Final = 90.0


class Running(Protocol):
    def kill(self) -> None: ...


class Group:
    """Three controllers of one kind."""

    def __init__(self, name: str, ports: Sequence[int], start: Callable[[int], Running], first_broker: int) -> None:
        self.name = name
        self.nodes = [("127.0.0.1", port) for port in ports]
        self._start = start
        self._first_broker = first_broker
        self._processes = [start(number) for number in range(SIZE)]
        self._writes = 0

    async def open(self) -> None:
        history, self._running = History(), asyncio.Event()
        self._running.set()
        hosts = [f"127.0.0.{self._first_broker + number}" for number in range(2)]
        self.brokers = [Broker("b-pair", host, self.nodes, history, REAL_PACE) for host in hosts]
        self.brokers[0].peers, self.brokers[1].peers = self.brokers[1:], self.brokers[:1]
        for broker in self.brokers:
            await broker.start()
        await self.settled()

    def close(self) -> None:
        for process in self._processes:
            process.kill()

    async def settled(self) -> None:
        """Until all nodes name one leader, both brokers agree and are in sync; then the warm-up."""
        async with asyncio.timeout(WAIT_S):
            while True:
                named = {await self._leader_of(node) for node in self.nodes}
                views = {(broker.epoch, broker.master) for broker in self.brokers}
                masters = [broker for broker in self.brokers if broker.is_master]
                if len(named) == len(views) == len(masters) == 1 and None not in named and len(masters[0].members) == 2:
                    break
                await asyncio.sleep(0.1)
        await asyncio.sleep(WARM_UP_S)

    async def leader(self) -> int:
        async with asyncio.timeout(WAIT_S):
            while True:
                for node in self.nodes:
                    named = await self._leader_of(node)
                    if named is not None:
                        return [f"{host}:{port}" for host, port in self.nodes].index(named)

    async def write_after_leader_killed(self) -> float:
        number = await self.leader()
        began = time.perf_counter()
        await asyncio.to_thread(self._processes[number].kill)
        others = [node for node in self.nodes if node != self.nodes[number]]
        async with asyncio.timeout(WAIT_S):
            while not any([await self._writes_at(node) for node in others]):  # noqa: ASYNC110  another process
                await asyncio.sleep(0.02)
        took = time.perf_counter() - began
        self._processes[number] = await asyncio.to_thread(self._start, number)
        await self.settled()
        return took

    async def master_after_both_killed(self) -> float:
        number = await self.leader()
        master = next(broker for broker in self.brokers if broker.is_master)
        (other,) = master.peers
        began = time.perf_counter()
        await asyncio.to_thread(self._processes[number].kill)
        master.kill()
        async with asyncio.timeout(WAIT_S):
            while not other.is_master:  # noqa: ASYNC110  another process notifies it
                await asyncio.sleep(0.01)
        took = time.perf_counter() - began
        self._processes[number] = await asyncio.to_thread(self._start, number)
        await master.start()
        await self.settled()
        return took

    async def _leader_of(self, node: tuple[str, int]) -> str | None:
        connection = Connection(node, "127.0.0.1", self._running)
        try:
            return (await connection.ask(1005, {})).ext.get("controllerLeaderAddress")
        except ConnectionError:
            return None
        finally:
            connection.close()

    async def _writes_at(self, node: tuple[str, int]) -> bool:
        """Whether an application for an id in a new set is acknowledged."""
        self._writes += 1
        connection = Connection(node, "127.0.0.1", self._running)
        ext = {"clusterName": "C1", "brokerName": f"w-{self._writes}", "appliedBrokerId": 1, "registerCheckCode": "a;1"}
        try:
            return (await connection.ask(1013, ext)).code == 0
        except ConnectionError:
            return False
        finally:
            connection.close()


@contextmanager
def routebook_group(folder: Path) -> Iterator[Group]:
    ports = [free_port() for _ in range(SIZE)]
    with etcd_cluster(folder, SIZE) as etcd:

        def start(number: int) -> Process:
            home = folder / f"n{number}"
            home.mkdir(exist_ok=True)
            endpoints = [*etcd.endpoints[number:], *etcd.endpoints[:number]]
            lines = {
                **_peers(ports, number),
                "routebook.controller.engine": "etcd",
                "routebook.controller.etcdEndpoints": ",".join(endpoints),
            }
            (home / "node.conf").write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
            process = Process("controller", "-c", str(home / "node.conf"), "--home", str(home / "home"))
            process.wait_for_out(r"listening on \S+ \(controller\)", timeout_s=120)
            return process

        group = Group("Routebook", ports, start, 101)
        try:
            yield group
        finally:
            group.close()


@contextmanager
def java_group(folder: Path) -> Iterator[Group]:
    from tests.support.java import NAMESERVER_FLAGS, JavaProcess  # noqa: PLC0415  needs a JDK

    ports = [free_port() for _ in range(SIZE)]

    class JavaController:
        def __init__(self, number: int) -> None:
            home = folder / f"n{number}"
            settings = {**_peers(ports, number), "controllerStorePath": home / "store", "mappedFileSize": 1_048_576}
            main = "org.apache.rocketmq.controller.ControllerStartup"
            self._process = JavaProcess(main, home=home, properties=settings, flags=NAMESERVER_FLAGS)
            self._process.wait_for_line("The Controller Server boot success")

        def kill(self) -> None:
            self._process.process.kill()
            self._process.process.wait()
            self._process.__exit__(None, None, None)

    group = Group("Java", ports, JavaController, 111)
    try:
        yield group
    finally:
        group.close()


def _peers(ports: Sequence[int], number: int) -> dict[str, object]:
    return {
        "controllerDLegerGroup": "g1",
        "controllerDLegerPeers": ";".join(f"n{one}-127.0.0.1:{port}" for one, port in enumerate(ports)),
        "controllerDLegerSelfId": f"n{number}",
    }


async def _measure_groups(groups: Sequence[Group], rounds: int) -> Figures:
    figures: Figures = {}
    for group in groups:
        await group.open()
    for number in range(rounds):
        for what in (NEXT_WRITE, OTHER_IS_MASTER):
            for group in groups:
                measured = group.write_after_leader_killed if what == NEXT_WRITE else group.master_after_both_killed
                took = await measured()
                figures.setdefault((what, group.name), []).append(took)
                print(f"round {number}: {group.name}: {what}: {took:.2f} s", flush=True)
    for group in groups:
        for broker in group.brokers:
            broker.kill()
    await asyncio.sleep(0.2)  # lets the event loop finish closing the connections
    return figures


def measure_groups(folder: Path, rounds: int) -> Figures:
    with ExitStack() as stack:
        for name in ("routebook", "java"):
            (folder / name).mkdir(parents=True)
        groups = [
            stack.enter_context(routebook_group(folder / "routebook")),
            stack.enter_context(java_group(folder / "java")),
        ]
        return asyncio.run(_measure_groups(groups, rounds))


def table(figures: Figures) -> str:
    """Markdown: medians and ranges in milliseconds below a tenth of a second, else in seconds."""
    lines = ["| kill -9 | Routebook | Java 5.5.0 | ratio |", "|---|---|---|---|"]
    for what in dict.fromkeys(what for what, _ in figures):
        ours, theirs = figures[what, "Routebook"], figures[what, "Java"]
        ratio = statistics.median(ours) / statistics.median(theirs)
        lines.append(f"| {what} | {_shown(ours)} | {_shown(theirs)} | {ratio:.2f} |")
    return "\n".join(lines)


def _shown(values: list[float]) -> str:
    middle = statistics.median(values)
    unit, factor = ("ms", 1000) if middle < 0.1 else ("s", 1)
    low, high = min(values) * factor, max(values) * factor
    return f"{middle * factor:.2f} {unit} ({low:.2f}-{high:.2f}, {len(values)} rounds)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("master", "notice", "leader"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--notices", type=int, default=300)
    options = parser.parse_args()
    parts: dict[str, Callable[[Path], Figures]] = {
        "notice": lambda folder: measure_notices(folder, options.notices),
        "master": lambda folder: measure_pairs(folder, options.rounds),
        "leader": lambda folder: measure_groups(folder, options.rounds),
    }
    print(f"load average before: {os.getloadavg()[0]:.1f}", flush=True)
    figures: Figures = {}
    with tempfile.TemporaryDirectory(prefix="controller-failover-") as folder:
        for name, measure in parts.items():
            if options.only in (None, name):
                figures |= measure(Path(folder) / name)
    print(table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
