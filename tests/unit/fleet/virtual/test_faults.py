"""Faults in virtual time whose end coincides with another event."""

from pathlib import Path
from typing import Final

import pytest

from routebook.events import BrokerDown, BrokerUp
from routebook.fleet.incidents import Incident, Schedule
from routebook.fleet.population import build_population
from routebook.fleet.scenario import FaultKind, Scenario, parse_scenario
from routebook.fleet.virtual import simulation
from tests.support.fleet_truth import disagreements, read_journal

START_MS: Final = 1_767_225_600_000
SEED: Final = 5
FROZEN_AT_MS: Final = 300_000


@pytest.fixture
def scenario() -> Scenario:
    return parse_scenario("[topics]\ncount = 2\n[clients]\ncount = 1\n[brokers]\ncount = 3\n", name="small")


@pytest.mark.parametrize("before_ms", [0, 1, 15])
def test_a_freeze_that_ends_as_a_scan_removes_the_broker(
    scenario: Scenario, before_ms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = build_population(scenario, SEED).groups[0].members[0]

    def simulate(name: str, lasts_ms: int) -> Path:
        frozen = Incident(kind=FaultKind.FREEZE, at_ms=FROZEN_AT_MS, lasts_ms=lasts_ms, members=(member,))
        monkeypatch.setattr(simulation, "build_schedule", lambda *_, **__: Schedule((frozen,), 0))
        out = tmp_path / name
        simulation.Simulation(scenario, days=0.05, seed=SEED, nameservers=1, start_ms=START_MS, out=out).run()
        return out

    records = read_journal(simulate("long", 1_000_000) / "ns-1")
    removed_ms = next(record.at for record in records if isinstance(record.event, BrokerDown)) - START_MS
    out = simulate("short", removed_ms - before_ms - FROZEN_AT_MS)
    events = [record.event for record in read_journal(out / "ns-1")]
    gone = [event for event in events if isinstance(event, BrokerDown)]
    back = [event for event in events if isinstance(event, BrokerUp) and event.addr == member.addr]
    assert len(back) == 1 + len(gone), "the broker returns as often as it leaves"
    assert disagreements(out, start_ms=START_MS) == []
