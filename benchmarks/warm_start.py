"""Seconds without routes when a NameServer is restarted: Routebook, and Java's under the same make-believe brokers.

    python -m benchmarks.warm_start [--brokers 300] [--topics 10000] [--limit-s 3]
    python -m benchmarks.warm_start --java [--brokers 20] [--topics 500] [--period-s 30]

The first form fills a Routebook and restarts it with no broker coming back: stopped in order, killed, and once without
its snapshot, so that all of the journal is read. Told is how long it takes from the process's start until it answers
whole and correct routes. Exits 1 if one of the first two takes longer than the limit.

The second restarts both NameServers under brokers that register once in a period, as real ones do (30 s), and connect
anew only then. Told is for how long a client that asks every 20 ms got no route, or not the whole one.
"""

import argparse
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

from benchmarks.many_topics import Connection, register, register_body

_COMMAND = (sys.executable, "-m", "routebook", "serve", "-Droutebook.http.listen=off")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Routebook:
    """A `routebook serve` that can be started again on the same port and home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()

    def start(self) -> float:
        """When the process was started; returns once it listens."""
        begun = time.perf_counter()
        with (self.home / "log").open("a") as log:
            self.process = subprocess.Popen(
                [*_COMMAND, "--listen", f"127.0.0.1:{self.port}", "--home", str(self.home)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        if not any("(nameserver)" in line for line in self.process.stdout):
            raise RuntimeError(f"it did not start; see {self.home / 'log'}")
        return begun

    def end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        self.process.wait(120)
        assert self.process.stdout is not None
        self.process.stdout.close()


def brokers_in(port: int, topic: str) -> int:
    """How many brokers a topic's route shows; 0 if there is none, or nobody answers."""
    try:
        connection = Connection(port)
    except OSError:
        return 0
    try:
        answer = connection.ask(105, {"topic": topic})
        return (answer.body or b"").count(b'"readQueueNums"')
    except (OSError, ConnectionError):
        return 0
    finally:
        connection.close()


def restart_routebook(brokers: int, topics: int, limit_s: float) -> bool:
    body = register_body(topics)
    slowest = 0.0
    with tempfile.TemporaryDirectory(prefix="routebook-bench-") as folder:
        server = Routebook(Path(folder))
        server.start()
        connections = [Connection(server.port) for _ in range(brokers)]
        for number, connection in enumerate(connections):
            register(connection, number, body)
        print(f"{brokers} brokers with {topics} topics each are registered", flush=True)
        for what, how in (("stopped", signal.SIGTERM), ("killed", signal.SIGKILL), ("without", signal.SIGTERM)):
            begun = time.perf_counter()
            server.end(how)
            stopped_s = time.perf_counter() - begun
            if what == "without":  # a snapshot: all of the journal has to be read
                shutil.rmtree(server.home / "snapshot")
                (server.home / "snapshot").mkdir()
            sizes = {
                part: sum(f.stat().st_size for f in Path(folder, part).iterdir()) for part in ("journal", "snapshot")
            }
            begun = server.start()
            listening_s = time.perf_counter() - begun
            chooser = random.Random(1)
            for _ in range(20):
                found = brokers_in(server.port, f"topic-{chooser.randrange(topics):05d}")
                if found != brokers:
                    raise RuntimeError(f"a route shows {found} brokers of {brokers}")
            served_s = time.perf_counter() - begun
            slowest = slowest if what == "without" else max(slowest, served_s)
            print(
                f"{what}: ended in {stopped_s:.2f} s; listens {listening_s:.2f} s after its start,"
                f" 20 whole routes by {served_s:.2f} s; journal {sizes['journal'] / 2**20:.1f} MiB,"
                f" snapshot {sizes['snapshot'] / 2**20:.2f} MiB",
                flush=True,
            )
        for connection in connections:
            connection.close()
        server.end(signal.SIGTERM)
    return slowest <= limit_s


class Brokers:
    """Brokers that register once in a period, each at its own moment, and connect anew where that fails."""

    def __init__(self, port: int, *, brokers: int, topics: int, period_s: float) -> None:
        self._port = port
        self._period_s = period_s
        self._body = register_body(topics)
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._live, args=(n, brokers), daemon=True) for n in range(brokers)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _live(self, number: int, brokers: int) -> None:
        connection: Connection | None = None
        wait_s = 0.0
        phase_s = self._period_s * number / brokers
        for turn in count():
            if self._ended.wait(wait_s):
                break
            for _ in range(2):  # a real broker knows by now that its connection is gone, and connects anew
                try:
                    connection = connection or Connection(self._port)
                    register(connection, number, self._body)
                    break
                except (OSError, RuntimeError):
                    if connection is not None:
                        connection.close()
                    connection = None
            wait_s = self._period_s if turn else phase_s or self._period_s
        if connection is not None:
            connection.close()


class Outage(NamedTuple):
    """For how many seconds a client got no route, and not the whole one."""

    missing_s: float
    partial_s: float


def watch_restart(port: int, brokers: int, restart: Callable[[], None]) -> Outage:
    """What a client sees of it, until all has been well for a while."""
    missing_s = partial_s = 0.0
    restarting = threading.Thread(target=restart)
    restarting.start()
    last = time.perf_counter()
    whole = 0
    while whole < 100 or restarting.is_alive():
        time.sleep(0.02)
        found = brokers_in(port, "topic-00000")
        now = time.perf_counter()
        missing_s += (now - last) if found == 0 else 0.0
        partial_s += (now - last) if found < brokers else 0.0
        whole = whole + 1 if found == brokers else 0
        last = now
    restarting.join()
    return Outage(missing_s, partial_s)


def compare(brokers: int, topics: int, period_s: float) -> dict[str, Outage]:
    """Both NameServers, one after the other."""
    from tests.support.java import NAMESERVER_FLAGS, JavaProcess  # noqa: PLC0415  only here a JDK is needed

    with tempfile.TemporaryDirectory(prefix="routebook-bench-") as folder:
        port = free_port()
        settings = {"bindAddress": "127.0.0.1", "listenPort": port}

        def java() -> JavaProcess:
            process = JavaProcess(
                "org.apache.rocketmq.namesrv.NamesrvStartup",
                home=Path(folder, "java"),
                properties=settings,
                flags=NAMESERVER_FLAGS,
            )
            process.wait_for_line("The Name Server boot success")
            return process

        running = java()

        def restart_java() -> None:
            nonlocal running
            running.stop()
            running = java()

        try:
            java_outage = _outage(port, brokers, topics, period_s, restart_java)
        finally:
            running.stop()
    with tempfile.TemporaryDirectory(prefix="routebook-bench-") as folder:
        server = Routebook(Path(folder))
        server.start()

        def restart_routebook() -> None:
            server.end(signal.SIGTERM)
            server.start()

        try:
            own_outage = _outage(server.port, brokers, topics, period_s, restart_routebook)
        finally:
            server.end(signal.SIGTERM)
    return {"Java": java_outage, "Routebook": own_outage}


def _outage(port: int, brokers: int, topics: int, period_s: float, restart: Callable[[], None]) -> Outage:
    fleet = Brokers(port, brokers=brokers, topics=topics, period_s=period_s)
    try:
        while brokers_in(port, "topic-00000") < brokers:
            time.sleep(0.1)
        time.sleep(period_s * 1.1)  # until everybody has found its own moment
        return watch_restart(port, brokers, restart)
    finally:
        fleet.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--java", action="store_true")
    parser.add_argument("--brokers", type=int)
    parser.add_argument("--topics", type=int)
    parser.add_argument("--period-s", type=float, default=30.0)
    parser.add_argument("--limit-s", type=float, default=3.0)
    chosen = parser.parse_args()
    if chosen.java:
        for name, outage in compare(chosen.brokers or 20, chosen.topics or 500, chosen.period_s).items():
            print(f"{name:<10} no route for {outage.missing_s:6.2f} s, not the whole for {outage.partial_s:6.2f} s")
        return 0
    return 0 if restart_routebook(chosen.brokers or 300, chosen.topics or 10_000, chosen.limit_s) else 1


if __name__ == "__main__":
    sys.exit(main())
