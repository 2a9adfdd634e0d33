"""Compares lake tables with the ground truth of simulated fleets."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from routebook.fleet.scenario import load_scenario
from routebook.fleet.virtual.simulation import Simulation
from routebook.fleet.virtual.truth import Expected, Truth
from routebook.lake.build.step import Step
from tests.support.bronze import from_fleets
from tests.support.fleet_truth import read_truth
from tests.support.lake_refresh import needed, refreshed

START_MS = 1_767_225_600_000  # 2026-01-01
_SETTLED_MS = 60_000
_MAX_BROKERS = 16


class Simulated(NamedTuple):
    """One simulated fleet; `mark` is the prefix of its NameServers and clusters in a lake of several fleets."""

    mark: str
    out: Path
    truths: tuple[Truth, ...]

    def expected(self, *kinds: str) -> list[Expected]:
        """The expected events, certain and possible, in the journals of this fleet."""
        return [one for truth in self.truths for one in truth.expect if one.kind in kinds]


class Score(NamedTuple):
    """The result of one comparison."""

    table: str
    right: int
    missed: list[str]
    unexplained: list[str]

    def __add__(self, other: object) -> "Score":
        if not isinstance(other, Score):
            return NotImplemented
        return Score(
            self.table, self.right + other.right, self.missed + other.missed, self.unexplained + other.unexplained
        )

    def __str__(self) -> str:
        precision = self.right / max(1, self.right + len(self.unexplained))
        recall = self.right / max(1, self.right + len(self.missed))
        return f"{self.table}: {self.right} found, precision {precision:.1%}, recall {recall:.1%}"


def simulate(name: str, *, seed: int, days: float, out: Path) -> Simulated:
    """Simulate a small fleet; its journals are in `out`."""
    scenario = load_scenario(name)
    small = scenario.sized(brokers=min(scenario.brokers.count, _MAX_BROKERS), topics=24, clients=2)
    Simulation(small, days=days, seed=seed, nameservers=3, start_ms=START_MS, out=out).run()
    return Simulated(f"{out.name}|", out, tuple(read_truth(out)))


def built(
    fleets: Sequence[Simulated], steps: Sequence[Step], tables: Iterable[str], spark: SparkSession
) -> dict[str, list[dict[str, Any]]]:
    """The tables of all fleets, built in one lake."""
    events = from_fleets(spark, [str(fleet.out) for fleet in fleets])
    made = refreshed(needed(steps, *tables), [events])
    return {table: [row.asDict(recursive=True) for row in made[table].collect()] for table in tables}


def of_fleet(rows: Iterable[dict[str, Any]], fleet: Simulated) -> list[dict[str, Any]]:
    """The rows of one fleet, with the names of its ground truth."""
    return [row | {"ns": row["ns"].removeprefix(fleet.mark)} for row in rows if row["ns"].startswith(fleet.mark)]


def match(table: str, found: Iterable[tuple[Expected, str]], expected: Iterable[Expected]) -> Score:
    """Match observations, expressed as expected events, with the expected events.

    An observation within the time and reasons of an expected event matches it; each expected event matches once.
    """
    waiting: dict[tuple[str, str, str, str], list[Expected]] = {}
    for one in sorted(expected, key=lambda one: (one.to_ms, not one.certain)):
        waiting.setdefault((one.kind, one.ns, one.addr, one.topic), []).append(one)
    right, unexplained = 0, []
    for sighting, shown in sorted(found, key=lambda pair: pair[0].from_ms):
        candidates = waiting.get((sighting.kind, sighting.ns, sighting.addr, sighting.topic), [])
        fit = next((one for one in candidates if _explains(one, sighting)), None)
        if fit is None:
            unexplained.append(shown)
        else:
            candidates.remove(fit)
            right += 1
    missed = [str(one) for left in waiting.values() for one in left if one.certain]
    return Score(table, right, missed, unexplained)


def is_settling(at_ms: int) -> bool:
    """Whether the time is in the first minute, in which the fleet starts."""
    return at_ms < START_MS + _SETTLED_MS


def ms(moment: datetime) -> int:
    """Milliseconds of a timestamp from Spark."""
    return round(moment.timestamp() * 1000)


def _explains(one: Expected, sighting: Expected) -> bool:
    is_reason = not one.reasons or not sighting.reasons or sighting.reasons[0] in one.reasons
    return one.from_ms <= sighting.from_ms <= one.to_ms and is_reason
