"""Measures how fresh a lake is: the first build, passes of `lake follow`, and the first and second query of a reader.

    python -m benchmarks.lake_fresh [--work DIR]

- `routebook lake build` over some 500 records of one NameServer, in a new process: CPU time of Python and Java.
- Passes on a warm Spark over five minutes of a quiet fleet (only rollups) and over an hour with incidents: wall-clock
  time and CPU time. The first pass of each kind is a warm-up.
- A reader in a new process: opening the lake with the first query, then a second one.

On a busy machine only CPU time is meaningful.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.lake import Worker
from benchmarks.suite import lake_journals
from routebook.fleet.scenario import load_scenario
from routebook.fleet.virtual.simulation import Simulation

PASSES: Final = ("quiet, warm-up", "quiet", "quiet again", "an hour with incidents, warm-up", "an hour with incidents")
_FROM_MS: Final = 1_767_225_600_000
_READER: Final = """
import json, sys, time
from routebook.lake.read.open import open_lake
found, began = [], time.perf_counter()
with open_lake(sys.argv[1]) as lake:
    for _ in range(2):
        lake.query("SELECT count(*), avg(availability) FROM gold.broker_availability_daily")
        found.append(time.perf_counter() - began)
        began = time.perf_counter()
print(json.dumps(found))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--work", type=Path, help="where lakes are made and removed [a temporary folder]")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="routebook-fresh-", dir=chosen.work) as work:
        print(table(measure(Path(work))))
    return 0


def measure(work: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"first": _first_build(work / "first"), "passes": {}}
    worker = Worker(work / "follow", lake_journals.make_fresh(), cores=min(2, os.cpu_count() or 1))
    worker.build()
    for number, name in enumerate(PASSES, 1):
        worker.hours(number)
        found["passes"][name] = worker.build()
    worker.close()
    found["reader"] = json.loads(_run([sys.executable, "-c", _READER, str(work / "follow" / "lake")])[0])
    return found


def table(found: dict[str, Any]) -> str:
    """The results as a Markdown table."""
    first, (query, again) = found["first"], found["reader"]
    lines = [
        "| freshness | wall, s | CPU, s |",
        "|---|---|---|",
        f"| first `lake build`, {first['records']} records | {first['seconds']:.1f} | {first['cpu']:.1f} |",
    ]
    lines += [
        f"| a pass of `follow`: {name} ({one['events']:,} events) | {one['seconds']:.1f} | {one['cpu']:.1f} |"
        for name, one in found["passes"].items()
        if "warm-up" not in name
    ]
    lines.append(f"| a reader's first query, then its second | {query:.2f}, {again:.3f} | |")
    return "\n".join(lines)


def _first_build(work: Path) -> dict[str, Any]:
    scenario = load_scenario("eventful-days").sized(brokers=4, topics=8, clients=4)
    report = Simulation(scenario, days=0.016, seed=3, nameservers=1, start_ms=_FROM_MS, out=work / "fleet").run()
    command = [sys.executable, "-m", "routebook", "lake", "build", "--json", "--lake", str(work / "lake")]
    _, seconds, cpu = _run([*command, "--journal", str(work / "fleet" / "ns-1")])
    return {"records": sum(report.records.values()), "seconds": seconds, "cpu": cpu}


def _run(command: list[str]) -> tuple[str, float, float]:
    """Run a command; its output, its duration and its CPU time, with those of the processes that it waited for."""
    began, before = time.monotonic(), os.times()
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return output, time.monotonic() - began, cpu


if __name__ == "__main__":
    sys.exit(main())
