"""Measures how cost grows with brokers, topics and connections, and the largest fleets of the capacity page."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.suite.native import Brokers, run_load
from benchmarks.suite.peers import Server, routebook
from benchmarks.suite.plans import look_ups, register_body, registrations, topic_names
from benchmarks.suite.results import Point

CONNECTIONS: Final = 32
FULL: Final = (
    *((brokers, 1_000, CONNECTIONS) for brokers in (10, 30, 100, 300, 1_000)),
    *((100, topics, CONNECTIONS) for topics in (100, 10_000, 50_000)),
    *((100, 1_000, connections) for connections in (1, 256, 1_024, 4_096)),
    (300, 10_000, CONNECTIONS),
    (1_000, 10_000, CONNECTIONS),
    (300, 50_000, CONNECTIONS),
    (1_000, 50_000, CONNECTIONS),
)
_BATCH: Final = 50
_PERIOD_S: Final = 30.0  # registration interval of a broker
QUICK: Final = ((10, 100, CONNECTIONS), (30, 1_000, CONNECTIONS), (30, 1_000, 256))


def measure_growth(*, quick: bool) -> Iterator[Point]:
    """Measure Routebook alone, with a new server for every point."""
    for brokers, topics, connections in QUICK if quick else FULL:
        with routebook() as server:
            time.sleep(2.0)  # until HTTP and history have started
            yield _point(server, brokers, topics, connections, seconds=0.5 if quick else 3.0)


def _point(server: Server, brokers: int, topics: int, connections: int, *, seconds: float) -> Point:
    names = topic_names(topics)
    with tempfile.TemporaryDirectory(prefix="routebook-bench-") as folder:
        bodies = [register_body(names), register_body(names, counter=2, changed=names[0])]
        frames = [(broker, 0) for broker in range(brokers)] + [(broker, 1) for broker in range(brokers)]
        fleet = registrations(Path(folder) / "fleet", bodies, frames)
        lookups = look_ups(Path(folder) / "lookups", names[:: max(1, topics // 1000)])
        with Brokers(server.port, fleet, connections=brokers) as registering:
            first_ms = _register_all(registering, brokers)
            same = registering.send(0, min(brokers, 100))
            changed = registering.send(brokers, min(brokers, 30))
            miss = run_load(server.port, lookups, connections=1, seconds=min(seconds, 1.0))
            used = server.cpu_s()
            load = run_load(server.port, lookups, connections=connections, seconds=seconds, warmup=0.3)
            used = server.cpu_s() - used
            time.sleep(1.0)
            figures = {
                "first_ms": first_ms,
                "same_ms": same.mean_us / 1000,
                "changed_ms": changed.mean_us / 1000,
                "changed_max_ms": changed.max_us / 1000,
                "miss_p99_ms": miss.p99_us / 1000,
                "lookups_per_s": load.per_second,
                "lookup_cpu_us": used / load.answered * 1e6,
                "lookup_p99_ms": load.p99_us / 1000,
                "reply_kib": load.bytes / load.answered / 1024,
                "memory_mib": server.memory_mib(),
                "peak_mib": server.memory_mib("VmHWM"),
                "body_mib": len(bodies[0]) / 2**20,
                "disk_mib": _disk_mib(server.home),
            }
    return Point(brokers, topics, connections, figures)


def _register_all(registering: Brokers, brokers: int) -> float:
    """Register all brokers one by one and return the mean in ms; earlier ones renew their lease meanwhile."""
    spent_us, renewed_s = 0.0, time.monotonic()
    for start in range(0, brokers, _BATCH):
        count = min(_BATCH, brokers - start)
        spent_us += registering.send(start, count).mean_us * count
        if time.monotonic() - renewed_s > _PERIOD_S:
            registering.send(0, start + count)
            renewed_s = time.monotonic()
    return spent_us / brokers / 1000


def _disk_mib(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
