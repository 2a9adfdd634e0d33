"""A refresh skips the steps whose inputs did not change; the tables equal those of one full build."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import zstandard
from pyspark.sql import DataFrame, SparkSession

from routebook.fleet.scenario import load_scenario
from routebook.fleet.virtual.simulation import Simulation
from routebook.lake.build.affected import Affected
from routebook.lake.build.step import Inputs, Step
from routebook.lake.build.steps import STEPS
from tests.support.bronze import from_lines
from tests.support.lake_refresh import refreshed

FROM_MS = 1_767_309_300_000  # 2026-01-01T23:15Z: midnight is in the middle
MINUTE_MS = 60_000


class _Line(msgspec.Struct):
    ns: str
    at: int
    kind: str


class _Part(NamedTuple):
    name: str
    has: Callable[[int, str], bool]  # by minute and NameServer
    skipped: set[str]  # some of the tables that the refresh leaves as they are


QUIET = {"outage_impact", "topic_placement"}
ROUTES = {"broker_spans", "topic_spans", "differences", "route_timeline", "convergence", "broker_flaps"}
PARTS = (
    _Part("first", lambda minute, _: minute < 20, {"elections", "sync_state", "protections"}),
    _Part("quiet", lambda minute, ns: 20 <= minute < 40 and ns == "ns-1", ROUTES | QUIET),
    _Part("outage", lambda minute, ns: 40 <= minute < 44 and ns == "ns-1", {"protections"}),
    _Part("quiet, outage open, next day", lambda minute, ns: 44 <= minute < 46 and ns == "ns-1", ROUTES),
    _Part("all but a gap", lambda minute, ns: minute >= 46 if ns == "ns-1" else minute >= 25, {"elections"}),
    _Part("late", lambda _minute, _ns: True, set()),
)


@pytest.mark.slow
@pytest.mark.lake_long
def test_skipped_steps_leave_the_tables_of_a_full_build(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = _simulated(tmp_path / "fleet")
    expected = _rows(refreshed(STEPS, [from_lines(spark, lines)]))

    skipped: list[set[str]] = []
    includes = Affected.includes

    def record(self: Affected, step: Step, inputs: Inputs) -> bool:
        is_included = includes(self, step, inputs)
        if step is STEPS[0]:
            skipped.append(set())
        if not is_included:
            skipped[-1].add(step.table.name)
        return is_included

    monkeypatch.setattr(Affected, "includes", record)
    parts = [from_lines(spark, [line for line in lines if part.has(*_place(line))]) for part in PARTS]
    found = _rows(refreshed(STEPS, parts))

    for part, tables in zip(PARTS, skipped, strict=True):
        assert part.skipped <= tables, part.name
    assert skipped[-1] == set()
    assert "outage_impact" not in skipped[3], "look-ups of an open outage are counted"
    assert "topic_placement" not in skipped[3], "a day has ended"
    for table, rows in expected.items():
        assert found[table] == rows, table


def _simulated(out: Path) -> list[str]:
    """Lines of two NameServers: a broker is down from minute 41 to 48, topics change at 46 and 59."""
    scenario = load_scenario("eventful-days").sized(brokers=4, topics=6, clients=2)
    Simulation(scenario, days=0.05, seed=2, nameservers=2, start_ms=FROM_MS, out=out).run()
    texts = (
        zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
        for path in sorted(out.glob("ns-*/*.jsonl.zst"))
    )
    return [line for text in texts for line in text.decode().splitlines()]


def _place(line: str) -> tuple[int, str]:
    event = msgspec.json.decode(line, type=_Line)
    return (event.at - FROM_MS) // MINUTE_MS, event.ns


def _rows(tables: dict[str, DataFrame]) -> dict[str, list[str]]:
    """The rows of each table as text, without the identifiers of members, which only name them within a NameServer."""
    return {name: sorted(str(row.asDict(recursive=True)) for row in frame.collect()) for name, frame in tables.items()}
