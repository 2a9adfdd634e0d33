"""Measures how long three Controllers are unavailable after kill -9: Routebook on etcd, and Java's on DLedger.

    python -m benchmarks.controller_failover [--rounds 5] [--no-java]

Both groups run at the same time on loopback and take turns. A round kills the leader and measures the time until
another node has committed a write; then it kills the leader and the master of a broker pair together and measures the
time until the other broker is notified that it is the master. Brokers are simulated with a real broker's intervals.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol

from benchmarks.suite.peers import free_port
from tests.chaos.controller.broker import Broker, Pace
from tests.chaos.controller.connection import Connection
from tests.chaos.controller.history import History
from tests.support.etcd import etcd_cluster
from tests.support.process import Process

SIZE: Final = 3
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


async def measure(groups: Sequence[Group], rounds: int) -> None:
    figures: dict[tuple[str, str], list[float]] = {}
    for group in groups:
        await group.open()
    for number in range(rounds):
        for what in ("leader killed until the next write", "leader and master killed until the other is master"):
            for group in groups:
                measured = group.write_after_leader_killed if "write" in what else group.master_after_both_killed
                took = await measured()
                figures.setdefault((what, group.name), []).append(took)
                sys.stdout.write(f"round {number}: {group.name}: {what}: {took:.2f} s\n")
                sys.stdout.flush()
    for group in groups:
        for broker in group.brokers:
            broker.kill()
    await asyncio.sleep(0.2)  # lets the event loop finish closing the connections
    for (what, name), values in figures.items():
        shown = ", ".join(f"{value:.2f}" for value in sorted(values))
        sys.stdout.write(f"{what}: {name}: median {statistics.median(values):.2f} s ({shown})\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-java", action="store_true", help="Routebook only")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="controller-failover-")))
        for name in ("routebook", "java"):
            (folder / name).mkdir()
        groups = [stack.enter_context(routebook_group(folder / "routebook"))]
        if not options.no_java:
            groups.append(stack.enter_context(java_group(folder / "java")))
        asyncio.run(measure(groups, options.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
