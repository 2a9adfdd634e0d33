"""Measures what the journal costs: look-ups and registrations with and without it, side by side in one run.

    python -m benchmarks.journal_cost [--rounds 10] [--brokers 20] [--topics 200] [--max-lookup 5] [--max-register 10]

Two servers run at once, one with `routebook.journal.enabled=false`. They take turns round by round, so that other load
on the machine affects both. Prints requests per second and the CPU time of the whole process per request, which
includes the threads of journal and history. Ratios are medians over the rounds. Exits 1 if the journal costs more
throughput, in percent, than allowed.
"""

import argparse
import socket
import statistics
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from benchmarks.suite.peers import routebook
from benchmarks.suite.plans import register_body, registration_fields, topic_names
from routebook.wire.codec import encode
from routebook.wire.command import Command

_BATCH = 64


class Measured(NamedTuple):
    """The result of one round of one server."""

    wall_us: float  # per request
    cpu_us: float


class JournalServer:
    """A server with open connections."""

    def __init__(self, *, journal: bool) -> None:
        self.process = routebook(f"-Droutebook.journal.enabled={str(journal).lower()}", http="off")
        self.connections: list[socket.socket] = []

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.process.port), timeout=60)
        self.connections.append(connection)
        return connection

    def stop(self) -> None:
        for connection in self.connections:
            connection.close()
        self.process.stop()


def exchange(connection: socket.socket, frames: list[bytes]) -> None:
    """Send frames in batches and read as many answers."""
    for start in range(0, len(frames), _BATCH):
        batch = frames[start : start + _BATCH]
        connection.sendall(b"".join(batch))
        waiting, data = len(batch), b""
        while waiting:
            data += connection.recv(1 << 20)
            while len(data) >= 4 and len(data) >= 4 + (size := int.from_bytes(data[:4], "big")):
                data = data[4 + size :]
                waiting -= 1


def registration(broker: int, topics: int, counter: int) -> bytes:
    """Return a whole registration; with another counter, one topic differs."""
    names = topic_names(topics)
    body = register_body(names, counter=counter, changed=names[0])
    return encode(Command(code=103, opaque=broker, ext=registration_fields(broker), body=body))


def look_ups(topics: int, count: int) -> list[bytes]:
    return [encode(Command(code=105, opaque=n, ext={"topic": f"topic-{n % topics:05d}"})) for n in range(count)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--brokers", type=int, default=20)
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--max-lookup", type=float, default=5.0)
    parser.add_argument("--max-register", type=float, default=10.0)
    chosen = parser.parse_args()
    servers = {"journal": JournalServer(journal=True), "without": JournalServer(journal=False)}
    try:
        costs = run(servers, chosen)
    finally:
        for server in servers.values():
            server.stop()
    limits = {"look-ups": chosen.max_lookup}
    return 0 if all(cost <= limits.get(what, chosen.max_register) for what, cost in costs.items()) else 1


def run(servers: dict[str, JournalServer], chosen: argparse.Namespace) -> dict[str, float]:
    brokers, topics = chosen.brokers, chosen.topics
    for server in servers.values():
        for broker in range(brokers):
            exchange(server.connect(), [registration(broker, topics, 1)])
        server.connect()  # for look-ups
    lookups = look_ups(topics, 10_000)
    same = [registration(broker, topics, 1) for broker in range(brokers)]
    works: dict[str, Callable[[JournalServer, int], int]] = {
        "look-ups": lambda server, _round: _look_up(server, lookups),
        "registrations, unchanged": lambda server, _round: _register(server, same, times=20),
        "registrations, a topic changed": lambda server, turn: _register(
            server, [registration(broker, topics, 2 + turn) for broker in range(brokers)], times=1
        ),
        "registrations, all topics new": lambda server, turn: _register_renamed(server, brokers, topics, turn),
    }
    costs = {}
    for what, work in works.items():
        rounds: dict[str, list[Measured]] = {name: [] for name in servers}
        for turn in range(chosen.rounds + 1):
            for name, server in servers.items():
                measured = _measured(server, work, turn)
                if turn:  # the first round is a warm-up
                    rounds[name].append(measured)
        costs[what] = _report(what, rounds)
    return costs


def _look_up(server: JournalServer, frames: list[bytes]) -> int:
    exchange(server.connections[-1], frames)
    return len(frames)


def _register(server: JournalServer, frames: list[bytes], *, times: int) -> int:
    for connection, frame in zip(server.connections, frames, strict=False):
        for _ in range(times):
            exchange(connection, [frame])
    return len(frames) * times


def _register_renamed(server: JournalServer, brokers: int, topics: int, turn: int) -> int:
    """Register every broker under a new name: all its topics are new, those of the old name stay."""
    frames = [registration(broker, topics, 1) for broker in range(brokers)]
    renamed = [frame.replace(b"broker-0", b"brok%02d-0" % (turn % 100)) for frame in frames]
    renamed = [frame.replace(b":10911", b":1%04d" % turn) for frame in renamed]
    return _register(server, renamed, times=1)


def _measured(server: JournalServer, work: Callable[[JournalServer, int], int], turn: int) -> Measured:
    cpu, wall = server.process.cpu_s(), time.perf_counter()
    count = work(server, turn)
    wall = time.perf_counter() - wall
    time.sleep(0.15)  # until the journal is written: that work counts, too
    return Measured(wall / count * 1e6, (server.process.cpu_s() - cpu) / count * 1e6)


def _report(what: str, rounds: dict[str, list[Measured]]) -> float:
    ratios: dict[str, float] = {}
    for unit in ("wall_us", "cpu_us"):
        pairs = zip(rounds["journal"], rounds["without"], strict=True)
        ratios[unit] = statistics.median(getattr(one, unit) / getattr(other, unit) for one, other in pairs)
    median = {name: statistics.median(m.cpu_us for m in measured) for name, measured in rounds.items()}
    per_second = {name: 1e6 / statistics.median(m.wall_us for m in measured) for name, measured in rounds.items()}
    cost = (1 - 1 / ratios["wall_us"]) * 100
    print(
        f"{what:<32} {per_second['journal']:9.0f}/s with, {per_second['without']:9.0f}/s without"
        f" (costs {cost:+.1f} %);"
        f" CPU {median['journal']:7.1f} µs with, {median['without']:7.1f} without (×{ratios['cpu_us']:.2f})",
        flush=True,
    )
    return cost


if __name__ == "__main__":
    sys.exit(main())
