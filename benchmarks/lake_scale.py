"""Measures how full builds grow with the number of events, with workers, and how long listing journals takes.

    python -m benchmarks.lake_scale [--events 10000000,30000000,100000000] [--workers-events N] [--segments 1000x100]

- For each number of events: time, CPU time, peak heap of the driver, shuffled bytes, tasks and data files. Each value
  divided by the number of events must not grow: the last column is the largest growth from the row before, per event.
- With `--workers-events`: a full build on a standalone cluster with one and with two workers of one core each.
- 1,000 NameServers with 100 segments each are listed. 0x0 skips it.

Journals are simulated once and kept (8 bytes and some 20 µs of CPU per event). Results are printed as Markdown.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pyspark

from benchmarks.lake import ROOT
from benchmarks.suite import lake_journals, machine
from benchmarks.suite.lake_journals import LARGE_DAYS, NAMESERVERS, Journals
from routebook.lake.build.bronze.journals import local_files
from routebook.lake.spark.java import java_home
from tests.support.free_ports import free_port, is_listening

_DEADLINE_S: Final = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", default="10000000,30000000,100000000", help="numbers of events, with commas")
    parser.add_argument("--workers-events", type=int, default=0, help="events of the build with one and two workers")
    parser.add_argument("--segments", default="1000x100", help="NameServers x segments to list")
    parser.add_argument("--work", type=Path, help="where lakes are made and removed [a temporary folder]")
    chosen = parser.parse_args()
    print(f"{machine.describe()['cpu']}, load {os.getloadavg()[0]:.0f} at the start, {time.strftime('%Y-%m-%d')}\n")
    with tempfile.TemporaryDirectory(prefix="routebook-scale-", dir=chosen.work) as work:
        cores = min(2, os.cpu_count() or 1)
        _print_growth([_build(Path(work), int(one), f"local[{cores}]") for one in chosen.events.split(",") if one])
        if chosen.workers_events:
            seconds = [_on_workers(Path(work), chosen.workers_events, workers) for workers in (1, 2)]
            ratio = seconds[0] / seconds[1]
            print(f"\none worker {seconds[0]:.1f} s, two {seconds[1]:.1f} s: {ratio:.2f} times as fast", flush=True)
        _list_segments(Path(work), *map(int, chosen.segments.split("x")))
    return 0


def _build(work: Path, events: int, master: str, **conf: str) -> dict[str, Any]:
    """One full build in a process of its own."""
    journals, folder = lake_journals.make(events, days=LARGE_DAYS), work / f"{events}-{time.monotonic_ns()}"
    log = folder / "log"
    log.mkdir(parents=True)
    given = [str(_linked(journals, folder, number)) for number in range(1, NAMESERVERS + 1)]
    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": log.as_uri()}
    command = [sys.executable, "-m", "benchmarks.suite.lake_worker", master, str(folder / "lake"), *given]
    single = {"spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false"}
    environment = os.environ | {"LAKE_CONF": json.dumps(logged | single | conf)}
    done = subprocess.run(
        command, check=True, input="build\n", stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    found |= _tasks(log) | {"files": sum(1 for _ in (folder / "lake").rglob("*.parquet"))}
    shutil.rmtree(folder)
    return found


def _linked(journals: Journals, folder: Path, number: int) -> Path:
    link = folder / f"ns-{number}"
    link.symlink_to(journals.part(0) / f"ns-{number}")
    return link


def _tasks(log: Path) -> dict[str, Any]:
    """The number of tasks, the bytes that they shuffled, and the longest task, from Spark's event log."""
    tasks, shuffled, longest_ms = 0, 0, 0
    for path in log.iterdir():
        with path.open() as lines:
            for line in lines:
                if '"SparkListenerTaskEnd"' in line[:60]:
                    event = json.loads(line)
                    info, metrics = event["Task Info"], event.get("Task Metrics") or {}
                    tasks += 1
                    shuffled += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
                    longest_ms = max(longest_ms, info["Finish Time"] - info["Launch Time"])
    return {"tasks": tasks, "shuffled": shuffled, "longest": longest_ms / 1000}


def _print_growth(rows: list[dict[str, Any]]) -> None:
    print(
        "| events | wall, s | CPU, s | heap, MB | shuffled, MB | tasks | longest task, s | files | growth per event |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    before: dict[str, Any] | None = None
    for row in rows:
        growth = "" if before is None else f"{max(_growth(before, row, key) for key in _GROWING):.2f}"
        print(
            f"| {row['events']:,} | {row['seconds']:.0f} | {row['cpu']:.0f} | {row['heap'] / 1e6:.0f} "
            f"| {row['shuffled'] / 1e6:.1f} | {row['tasks']:,} | {row['longest']:.1f} | {row['files']:,} | {growth} |",
            flush=True,
        )
        before = row


_GROWING: Final = ("seconds", "cpu", "heap", "shuffled", "tasks", "files")


def _growth(before: dict[str, Any], after: dict[str, Any], key: str) -> float:
    """How much more of a resource an event takes than in the row before; at most 1 is linear."""
    return float(after[key] / after["events"] / (before[key] / before["events"]))


def _list_segments(work: Path, nameservers: int, segments: int) -> None:
    if not nameservers * segments:
        return
    folders = [work / "many" / f"ns-{number}" for number in range(nameservers)]
    for folder in folders:
        folder.mkdir(parents=True)
        for number in range(segments):
            (folder / f"{number * 10 + 1:020}-{number * 10 + 10:020}-{number}-{number}.jsonl.zst").touch()
    began, cpu = time.monotonic(), time.process_time()
    found = sum(len(local_files(folder)) for folder in folders)
    took, used = time.monotonic() - began, time.process_time() - cpu
    print(f"\n{found:,} segments of {nameservers:,} NameServers listed in {took:.2f} s ({used:.2f} s of CPU)")


def _on_workers(work: Path, events: int, workers: int) -> float:
    """The time of a full build on a standalone cluster with this many workers of one core each."""
    port = free_port()
    with ExitStack() as stack:
        host = ("--host", "127.0.0.1", "--webui-port", "0")
        stack.enter_context(_daemon(work, "master.Master", *host, "--port", str(port)))
        deadline = time.monotonic() + _DEADLINE_S
        while time.monotonic() < deadline and not is_listening(port):
            time.sleep(0.2)
        for _ in range(workers):
            worker = ("worker.Worker", *host, "--cores", "1", "--memory", "2g", f"spark://127.0.0.1:{port}")
            stack.enter_context(_daemon(work, *worker))
        conf = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "1g"}
        ready = {
            "spark.cores.max": str(workers),
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{_DEADLINE_S:.0f}s",
        }
        return float(_build(work, events, f"spark://127.0.0.1:{port}", **conf, **ready)["seconds"])


@contextmanager
def _daemon(folder: Path, name: str, *args: str) -> Iterator[None]:
    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "JAVA_HOME": str(java_home(os.environ)),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "workers"),
    }
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *args]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=environment, start_new_session=True, **quiet)
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
