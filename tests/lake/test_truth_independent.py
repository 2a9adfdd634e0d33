"""Two independent comparators agree that the lake has exactly the injected faults, with seeds that no one has seen.

The lake is built with Iceberg and read with DuckDB. One fleet runs with the other tests; `make lake` runs ten. A
failure prints the seeds: ROUTEBOOK_TRUTH_SEEDS=1,2 repeats them.
"""

import json
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from routebook.fleet.scenario import parse_scenario
from routebook.fleet.virtual.simulation import TRUTH_FILE, Simulation
from routebook.lake.build.steps import STEPS
from routebook.lake.read.open import open_lake
from tests.lake.test_truth import CHECKS
from tests.support.fleet_truth import read_truth
from tests.support.journal_lines import journal_lines
from tests.support.lake import SparkLake, write_rolled
from tests.support.lake_truth import START_MS, Simulated
from tests.support.truth_comparator import TABLES, compare

SEEDS = os.environ.get("ROUTEBOOK_TRUTH_SEEDS", "")
FRESH = 10
DAYS = 0.25
SCENARIO = """
[topics]
count = 10
[clients]
count = 1
[brokers]
count = 12
paired = 0.5
[[fault]]
kind = "crash"
per_day = 40
for = "20s"
[[fault]]
kind = "crash"
per_day = 20
silent = true
for = "5m"
[[fault]]
kind = "stop"
per_day = 40
for = "30s"
[[fault]]
kind = "freeze"
per_day = 20
for = "4m"
[[fault]]
kind = "freeze"
per_day = 20
for = "30s"
[[fault]]
kind = "cut"
per_day = 40
for = "6m"
[[fault]]
kind = "cut"
per_day = 20
for = "15s"
[[fault]]
kind = "flap"
per_day = 20
for = "3m"
down = "6s"
up = "24s"
[[fault]]
kind = "slow"
per_day = 10
for = "10m"
delay = "20s"
[[fault]]
kind = "switch"
per_day = 20
[[fault]]
kind = "churn"
per_day = 80
[[fault]]
kind = "restart"
per_day = 10
for = "20s"
"""
_NAMES = ("ns", "cluster", "broker", "addr", "brokers", "addrs")
_LONGEST = len("2026-01-01T00:00:00.000000")


@pytest.mark.slow
def test_two_comparators_agree_with_the_truth(
    small_lake: SparkLake, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    count = FRESH if pytestconfig.option.lake_all else 1
    seeds = [int(seed) for seed in SEEDS.split(",")] if SEEDS else [secrets.randbelow(1_000_000) for _ in range(count)]
    fleets = [simulate(seed, tmp_path / f"seed-{seed}") for seed in seeds]
    outcome = small_lake.pipeline(STEPS).build([str(folder) for fleet in fleets for folder in marked(fleet)])
    assert (outcome.missing, bool(outcome.quarantine)) == (0, False)
    for fleet in fleets:
        truth = [json.loads(line) for line in (fleet.out / TRUTH_FILE).read_text().splitlines()]
        assert {fault["fault"] for fault in truth} >= {"crash", "stop", "freeze", "cut"}
        tables = {name: [in_ms(row) for row in rows_of(small_lake, name, fleet)] for name in TABLES}
        assert compare(tables, truth, start_ms=START_MS) == [], f"seeds {seeds}"
        for name in TABLES[:3]:
            assert compare(tables | {name: tables[name][1:]}, truth, start_ms=START_MS), f"{name} without a row"
        for check in CHECKS[:5]:
            rows = {name: rows_of(small_lake, name, fleet) for name in check.reads}
            marked_rows = {name: [row | {"ns": fleet.mark + row["ns"]} for row in rows[name]] for name in rows}
            score = check.run(fleet, marked_rows)
            assert (score.missed, score.unexplained) == ([], []), f"seeds {seeds}: {score}"


def simulate(seed: int, out: Path) -> Simulated:
    """A fleet of a few hours with every kind of fault."""
    scenario = parse_scenario(SCENARIO, name="fresh")
    Simulation(scenario, days=DAYS, seed=seed, nameservers=3, start_ms=START_MS, out=out).run()
    return Simulated(f"{out.name}|", out, tuple(read_truth(out)))


def marked(fleet: Simulated) -> list[Path]:
    """The journals, with the mark of the fleet in all names: one lake holds all fleets."""
    folders = []
    for source in sorted(path for path in fleet.out.iterdir() if path.is_dir()):
        events = [json.loads(line) for line in journal_lines(source, minutes=True)]
        folder = fleet.out.parent / "marked" / fleet.out.name / source.name
        write_rolled(folder, 1, len(events), [json.dumps(_marked(event, fleet.mark)) for event in events])
        folders.append(folder)
    return folders


def _marked(event: dict[str, Any], mark: str) -> dict[str, Any]:
    for name in _NAMES:
        value = event.get(name)
        if value is not None:
            event[name] = [mark + one for one in value] if isinstance(value, list) else mark + value
    return event


def rows_of(lake: SparkLake, name: str, fleet: Simulated) -> list[dict[str, Any]]:
    """The rows of one fleet, read by DuckDB, without its mark."""
    layer = "silver" if name in ("observed", "broker_spans") else "gold"
    opened = open_lake(lake.home)
    with opened.cursor(f"SELECT * FROM {layer}.{name}", build=opened.build(None)) as cursor:
        names = [column.name for column in cursor.columns]
        rows = [dict(zip(names, row, strict=True)) for batch in cursor.batches() for row in batch]
    mine = [row for row in rows if any(str(row.get(key)).startswith(fleet.mark) for key in ("ns", "ns_a", "broker"))]
    return [{key: _plain(value, fleet.mark) for key, value in row.items()} for row in mine]


def _plain(value: Any, mark: str) -> Any:
    """The value without the mark; times as datetime."""
    match value:
        case str() if len(value) <= _LONGEST + 6 and value[:2] == "20" and value[10:11] in ("T", " "):
            moment = datetime.fromisoformat(value)
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        case str():
            return value.removeprefix(mark)
        case list():
            return [_plain(one, mark) for one in value]
        case dict():
            return {key: _plain(one, mark) for key, one in value.items()}
        case _:
            return value


def in_ms(row: dict[str, Any]) -> dict[str, Any]:
    """The row with times in ms."""
    return {
        key: round(value.timestamp() * 1000) if isinstance(value, datetime) else value for key, value in row.items()
    }
