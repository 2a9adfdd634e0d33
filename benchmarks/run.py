"""Routebook beside Java's NameServer, Rust's, and the limit: all figures of docs/benchmarks.md.

    python -m benchmarks.run [--quick] [--only ROW] [--peers routebook,java,rust] [--no-pages] [--pages] [--build-rust]

`--quick` takes less than three minutes, with a smaller fleet. `--only` runs what makes one row (the beginning of its
key: `narrow-32`, `latency`, `register`, `memory`, `start`, `growth`) and leaves the others as they were. A peer that is
not there is skipped, and said so. Results are kept in docs/benchmarks/results.json, from which the pages are made;
`--pages` makes them again without measuring.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.suite import machine, peers, report, results, rows
from benchmarks.suite.growth import measure_growth

DOCS = Path(__file__).parents[1] / "docs"
KEPT = DOCS / "benchmarks" / "results.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", metavar="ROW")
    parser.add_argument("--peers", default="routebook,java,rust")
    parser.add_argument("--pages", action="store_true", help="make the pages again, measure nothing")
    parser.add_argument("--no-pages", action="store_true", help="print only")
    parser.add_argument("--build-rust", action="store_true", help="build the Rust NameServer, and end")
    chosen = parser.parse_args()
    if chosen.build_rust:
        peers.build_rust()
        return 0
    kept = results.load(KEPT)
    if chosen.pages:
        if kept is None:
            print("nothing was measured yet")
            return 1
        report.write_pages(kept, DOCS)
        return 0
    if chosen.only == "growth" and kept is not None:  # no peer is in it: what is told of the rows stays
        _grow(kept, quick=chosen.quick)
        _tell(kept, chosen)
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
    _tell(found, chosen)
    return 0


def _tell(found: results.Results, chosen: argparse.Namespace) -> None:
    if not chosen.no_pages:
        results.save(found, KEPT)
        report.write_pages(found, DOCS)


def measure(found: results.Results, chosen: argparse.Namespace) -> None:
    began = time.monotonic()
    only: str | None = chosen.only

    def wanted(*keys: str) -> bool:
        return only is None or any(key.startswith(only) for key in keys)

    names = [name for name in chosen.peers.split(",") if _is_there(name, found)]
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
    print(f"took {time.monotonic() - began:.0f} s")


def _is_there(name: str, found: results.Results) -> bool:
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
