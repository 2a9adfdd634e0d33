"""Measures lake builds as ratios: against parsing alone, over the length of the history, and over cores.

    python -m benchmarks.lake [--events 10000000] [--work DIR] [--no-pages]

- A full build of all tables, divided by the time that Spark needs to parse the same segments with the declared schema:
  at most 8.
- One more hour of events on ten times the history, divided by the same on the history: at most 1.5. Each lake has its
  own Spark process; they alternate. The first hour is a warm-up, the median of the others counts.
- The full build on one core, divided by the build on two: at least 1.5. The process is limited to one core: Spark with
  one task, but with a second core for compiling and garbage collection, uses 1.5 cores.

Journals are simulated once and kept (about 80 MB, a few minutes). The start of Spark is reported separately: it does
not depend on the size. Results go to docs/benchmarks/lake.json and docs/lake.md.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.suite import lake_journals, machine
from benchmarks.suite.lake_journals import HOURS, LARGE_DAYS, NAMESERVERS, SMALL_DAYS, Journals

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "docs" / "benchmarks" / "lake.json"
PAGE: Final = ROOT / "docs" / "lake.md"
BEGIN, END = "<!-- measured by benchmarks/lake.py -->", "<!-- end of what was measured -->"
MAX_BY_PARSING, MAX_BY_HISTORY, MIN_BY_CORES = 8.0, 1.5, 1.5
PARSES: Final = 3


class Worker:
    """A Spark process with a lake and growing journals."""

    def __init__(self, folder: Path, journals: Journals, *, cores: int) -> None:
        self._given = [folder / "journal" / f"ns-{n}" for n in range(1, NAMESERVERS + 1)]
        self._journals = journals
        self.hours(0)
        command = [sys.executable, "-m", "benchmarks.suite.lake_worker", f"local[{cores}]", str(folder / "lake")]
        self._process = subprocess.Popen(
            [*command, *map(str, self._given)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        self.start_s: float = self._answer()["seconds"]

    def hours(self, hour: int) -> None:
        """Add the segments of this hour; 0: those of the history."""
        for given in self._given:
            given.mkdir(parents=True, exist_ok=True)
            for path in (self._journals.part(hour) / given.name).iterdir():
                shutil.copy(path, given)

    def parse(self) -> dict[str, Any]:
        return self._ask("parse")

    def build(self) -> dict[str, Any]:
        return self._ask("build")

    def close(self) -> None:
        self._process.communicate(timeout=120)

    def _ask(self, what: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the lake's process has ended: what it said is above")
        answer: dict[str, Any] = json.loads(line)
        return answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--work", type=Path, help="where lakes are made and removed [a temporary folder]")
    parser.add_argument("--no-pages", action="store_true", help="print only")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="routebook-lake-", dir=chosen.work) as work:
        found = measure(Path(work), chosen.events)
    told = table(found)
    print(told)
    if not chosen.no_pages:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        text = PAGE.read_text()
        head, _, rest = text.partition(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{told}\n{END}{rest.partition(END)[2]}" if rest else text)
    return 0 if all(row["met"] for row in found["ratios"]) else 1


def measure(work: Path, events: int) -> dict[str, Any]:
    large = lake_journals.make(events, days=LARGE_DAYS)
    small = lake_journals.make(events, days=SMALL_DAYS)
    about = machine.describe()
    one = Worker(work / "one", large, cores=1)
    on_one = one.build()
    print(f"full build on one core: {on_one['seconds']:.1f} s", flush=True)
    one.close()
    two = Worker(work / "large", large, cores=min(2, os.cpu_count() or 1))
    parses = [two.parse() for _ in range(PARSES)]
    on_two = two.build()
    parses.append(two.parse())
    parsed = ", ".join(f"{one['seconds']:.1f}" for one in parses)
    print(f"parsing: {parsed} s; full build on two: {on_two['seconds']:.1f} s", flush=True)
    little = Worker(work / "small", small, cores=min(2, os.cpu_count() or 1))
    on_small = little.build()
    hours: dict[str, list[dict[str, Any]]] = {"small": [], "large": []}
    for hour in range(1, HOURS + 1):
        for name, worker in (("small", little), ("large", two)):
            worker.hours(hour)
            hours[name].append(worker.build())
            print(f"hour {hour} on the {name} history: {hours[name][-1]['seconds']:.1f} s", flush=True)
    two.close()
    little.close()
    hour_s = {name: statistics.median(one["seconds"] for one in found[1:]) for name, found in hours.items()}
    parse_s = statistics.median(one["seconds"] for one in parses)
    ratios = [
        _ratio("full build / parsing alone", on_two["seconds"], parse_s, most=MAX_BY_PARSING),
        _ratio("one hour: ten times the history / the history", hour_s["large"], hour_s["small"], most=MAX_BY_HISTORY),
        _ratio("full build: one core / two cores", on_one["seconds"], on_two["seconds"], least=MIN_BY_CORES),
    ]
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": about,
        "events": large.events,
        "text_bytes": large.text_bytes,
        "brokers": large.brokers,
        "nameservers": NAMESERVERS,
        "ratios": ratios,
        "seconds": {
            "start of Spark": two.start_s,
            "parsing": [one["seconds"] for one in parses],
            "full build": on_two["seconds"],
            "full build on one core": on_one["seconds"],
            "full build of the small history": on_small["seconds"],
            "hours on the small history": [one["seconds"] for one in hours["small"]],
            "hours on the large history": [one["seconds"] for one in hours["large"]],
        },
        # CPU time depends least on the load of the machine
        "cpu": {
            "parsing": [one["cpu"] for one in parses],
            "full build": on_two["cpu"],
            "full build on one core": on_one["cpu"],
            "hours on the small history": [one["cpu"] for one in hours["small"]],
            "hours on the large history": [one["cpu"] for one in hours["large"]],
        },
        "events of an hour": hours["large"][-1]["events"],
        "stages": {
            "full build": on_two["stages"],
            "full build, of processors": on_two["stages_cpu"],
            "one core": on_one["stages"],
            "an hour": _medians([one["stages"] for one in hours["large"][1:]]),
            "an hour on the small history": _medians([one["stages"] for one in hours["small"][1:]]),
        },
    }


def table(found: dict[str, Any]) -> str:
    """The results as a Markdown table."""
    seconds = found["seconds"]
    size = f"{found['events'] / 1e6:.1f} million events ({found['text_bytes'] / 1e9:.1f} GB of text)"
    of = f"{LARGE_DAYS} days, {found['brokers']} brokers and {found['nameservers']} NameServers"
    lines = [
        f"{size} of {of}; {found['machine']['cpu']}, {found['date']}.",
        "",
        "| ratio | seconds | value | goal | |",
        "|---|---|---|---|---|",
    ]
    for row in found["ratios"]:
        goal = f"at most {row['most']:g}" if "most" in row else f"at least {row['least']:g}"
        lines.append(
            f"| {row['what']} | {row['seconds']:.1f} / {row['by_seconds']:.1f} | {row['ratio']:.2f} | {goal} "
            f"| {'met' if row['met'] else 'not met'} |"
        )
    full, hour = found["stages"]["full build"], found["stages"]["an hour"]
    lines += [
        "",
        f"The start of Spark takes another {seconds['start of Spark']:.1f} s. Time per stage, in seconds:",
        "",
        f"| stage | full build | one hour ({found['events of an hour']:,} events) |",
        "|---|---|---|",
    ]
    lines += [f"| {name} | {took:.1f} | {hour.get(name, 0.0):.1f} |" for name, took in full.items()]
    return "\n".join(lines)


def _ratio(
    what: str, seconds: float, by_seconds: float, *, most: float | None = None, least: float | None = None
) -> dict[str, Any]:
    ratio = seconds / by_seconds
    met = (most is None or ratio <= most) and (least is None or ratio >= least)
    goal = {name: value for name, value in (("most", most), ("least", least)) if value is not None}
    return {"what": what, "seconds": seconds, "by_seconds": by_seconds, "ratio": ratio, "met": met} | goal


def _medians(stages: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(one.get(name, 0.0) for one in stages) for name in stages[0]}


if __name__ == "__main__":
    sys.exit(main())
