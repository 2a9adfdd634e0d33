"""Compares Routebook with the NameServers of Java and Rust and with the C limit; all figures of docs/benchmarks.md.

    python -m benchmarks.run [--quick] [--only ROW] [--peers routebook,java,rust] [--no-pages] [--pages] [--build-rust]

`--quick` uses a smaller fleet and takes less than three minutes. `--only` measures one row, given by the beginning of
its key (`narrow-32`, `latency`, `register`, `memory`, `start`, `growth`), and keeps the others. Peers that are not
available are skipped with a message. Results are stored in docs/benchmarks/results.json; `--pages` writes pages from
them without measuring.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.suite import machine, peers, report, results, rows
from benchmarks.suite.growth import measure_growth

DOCS = Path(__file__).parents[1] / "docs"
RESULTS_FILE = DOCS / "benchmarks" / "results.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", metavar="ROW")
    parser.add_argument("--peers", default="routebook,java,rust")
    parser.add_argument("--pages", action="store_true", help="write the pages from stored results, without measuring")
    parser.add_argument("--no-pages", action="store_true", help="only print the results")
    parser.add_argument("--build-rust", action="store_true", help="build the Rust NameServer and exit")
    chosen = parser.parse_args()
    if chosen.build_rust:
        peers.build_rust()
        return 0
    kept = results.load(RESULTS_FILE)
    if chosen.pages:
        if kept is None:
            print("no stored results: run a measurement first")
            return 1
        report.write_pages(kept, DOCS)
        return 0
    if chosen.only == "growth" and kept is not None:  # measures Routebook alone: the other rows stay
        _grow(kept, quick=chosen.quick)
        _write(kept, chosen)
        return 0
    found = results.Results(
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        quick=chosen.quick,
        machine=machine.describe(),
        versions=peers.versions(),
        rows=kept.rows if kept is not None and chosen.only else [],
        growth=kept.growth if kept is not None else [],
    )
    measure(found, chosen)
    _write(found, chosen)
    return 0


def _write(found: results.Results, chosen: argparse.Namespace) -> None:
    if not chosen.no_pages:
        results.save(found, RESULTS_FILE)
        report.write_pages(found, DOCS)


def measure(found: results.Results, chosen: argparse.Namespace) -> None:
    began = time.monotonic()
    only: str | None = chosen.only

    def wanted(*keys: str) -> bool:
        return only is None or any(key.startswith(only) for key in keys)

    names = [name for name in chosen.peers.split(",") if _is_available(name, found)]
    size = rows.QUICK if chosen.quick else rows.FULL
    steps: list[tuple[bool, Callable[[], object]]] = [
        (wanted("start", "memory-idle"), lambda: _add(found, rows.measure_starts(names, size))),
        (True, lambda: _add(found, rows.measure_look_ups(names, size, wanted))),
        (
            wanted("register-first", "register-same", "register-changed", "memory-big", "storm"),
            lambda: _add(found, rows.measure_big_fleet(names, size)),
        ),
        (wanted("growth") and (only is not None or not chosen.quick), lambda: _grow(found, quick=chosen.quick)),
    ]
    for is_wanted, step in steps:
        if is_wanted:
            step()
    print(f"finished in {time.monotonic() - began:.0f} s")


def _is_available(name: str, found: results.Results) -> bool:
    try:
        peers.require(name)
    except peers.Missing as problem:
        print(f"skipping {name}: {problem}", file=sys.stderr)
        found.skipped[name] = str(problem).splitlines()[0]
        return False
    return True


def _add(found: results.Results, measured: Iterator[results.Row]) -> None:
    for row in measured:
        print(report.table([row]).splitlines()[-1], flush=True)
        found.put([row])


def _grow(found: results.Results, *, quick: bool) -> None:
    found.growth = []
    for point in measure_growth(quick=quick):
        figures = ", ".join(f"{name} {value:.3g}" for name, value in point.figures.items())
        print(f"{point.brokers} × {point.topics}, {point.connections} connections: {figures}", flush=True)
        found.growth.append(point)


if __name__ == "__main__":
    sys.exit(main())
