"""Measures the time without routes when a NameServer restarts: Routebook, and Java's with the same simulated brokers.

    python -m benchmarks.warm_start [--brokers 300] [--topics 10000] [--limit-s 3]
    python -m benchmarks.warm_start --java [--brokers 20] [--topics 500] [--period-s 30]

The first form fills a Routebook and restarts it without brokers: after SIGTERM, after SIGKILL, and without its
snapshot, so that the whole journal is replayed. It prints the time from the process start to complete and correct
routes, and exits 1 if one of the first two takes longer than the limit.

The second form restarts both NameServers while brokers register once per period, as real ones do (30 s), and reconnect
only then. It prints how long a client that polls every 20 ms got no route, or no complete one.
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

from benchmarks.many_topics import register
from benchmarks.suite.peers import Connection
from benchmarks.suite.plans import register_body, topic_names
from tests.support.free_ports import free_port

_COMMAND = (sys.executable, "-m", "routebook", "serve", "-Droutebook.http.listen=off")


class Routebook:
    """A `routebook serve` that can be restarted with the same port and home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()

    def start(self) -> float:
        """Start and wait until it listens; return the start time."""
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
            raise RuntimeError(f"the server did not start; see {self.home / 'log'}")
        return begun

    def end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        self.process.wait(120)
        assert self.process.stdout is not None
        self.process.stdout.close()


def brokers_in(port: int, topic: str) -> int:
    """Return the number of brokers in a topic's route; 0 without a route or an answer."""
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
    body = register_body(topic_names(topics))
    slowest = 0.0
    with tempfile.TemporaryDirectory(prefix="routebook-bench-") as folder:
        server = Routebook(Path(folder))
        server.start()
        connections = [Connection(server.port) for _ in range(brokers)]
        for number, connection in enumerate(connections):
            register(connection, number, body)
        print(f"{brokers} brokers with {topics} topics each are registered", flush=True)
        for what, how in (("SIGTERM", signal.SIGTERM), ("SIGKILL", signal.SIGKILL), ("no snapshot", signal.SIGTERM)):
            begun = time.perf_counter()
            server.end(how)
            stopped_s = time.perf_counter() - begun
            if what == "no snapshot":  # then the whole journal is replayed
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
                    raise RuntimeError(f"a route has {found} of {brokers} brokers")
            served_s = time.perf_counter() - begun
            slowest = slowest if what == "no snapshot" else max(slowest, served_s)
            print(
                f"{what}: stopped in {stopped_s:.2f} s; listens after {listening_s:.2f} s,"
                f" 20 complete routes after {served_s:.2f} s; journal {sizes['journal'] / 2**20:.1f} MiB,"
                f" snapshot {sizes['snapshot'] / 2**20:.2f} MiB",
                flush=True,
            )
        for connection in connections:
            connection.close()
        server.end(signal.SIGTERM)
    return slowest <= limit_s


class Brokers:
    """Brokers that register once per period, evenly spread, and reconnect after a failure."""

    def __init__(self, port: int, *, brokers: int, topics: int, period_s: float) -> None:
        self._port = port
        self._period_s = period_s
        self._body = register_body(topic_names(topics))
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n, brokers), daemon=True) for n in range(brokers)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int, brokers: int) -> None:
        connection: Connection | None = None
        wait_s = 0.0
        phase_s = self._period_s * number / brokers
        for turn in count():
            if self._ended.wait(wait_s):
                break
            for _ in range(2):  # a real broker has noticed the lost connection by now and reconnects
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
    """Seconds in which a client got no route, and no complete route."""

    missing_s: float
    partial_s: float


def watch_restart(port: int, brokers: int, restart: Callable[[], None]) -> Outage:
    """Poll as a client until 100 consecutive routes were complete."""
    missing_s = partial_s = 0.0
    restarting = threading.Thread(target=restart)
    restarting.start()
    last = time.perf_counter()
    complete = 0
    while complete < 100 or restarting.is_alive():
        time.sleep(0.02)
        found = brokers_in(port, "topic-00000")
        now = time.perf_counter()
        missing_s += (now - last) if found == 0 else 0.0
        partial_s += (now - last) if found < brokers else 0.0
        complete = complete + 1 if found == brokers else 0
        last = now
    restarting.join()
    return Outage(missing_s, partial_s)


def compare(brokers: int, topics: int, period_s: float) -> dict[str, Outage]:
    """Measure both NameServers, one after the other."""
    from tests.support.java import NAMESERVER_FLAGS, JavaProcess  # noqa: PLC0415  needs a JDK

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
        time.sleep(period_s * 1.1)  # until all brokers register at their own time
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
            print(f"{name:<10} no route for {outage.missing_s:6.2f} s, no complete route for {outage.partial_s:6.2f} s")
        return 0
    return 0 if restart_routebook(chosen.brokers or 300, chosen.topics or 10_000, chosen.limit_s) else 1


if __name__ == "__main__":
    sys.exit(main())
