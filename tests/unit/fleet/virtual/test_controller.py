"""Broker sets in virtual time: journals agree with the ground truth, and each fault has the effect that it names."""

from pathlib import Path

import msgspec
import pytest

from routebook.controller_events import ControllerLeader, MasterElected, NoMasterElected, SyncStateChanged
from routebook.fleet.scenario import Fault, FaultKind, Millis, Scenario, load_scenario
from routebook.fleet.virtual.simulation import TRUTH_FILE, Simulation
from tests.support.fleet_truth import disagreements, read_journal, read_truth

START_MS = 1_767_225_600_000
DAYS = 0.14  # the faults of the shipped scenario begin at 03:00 and last 20 minutes


def simulate(scenario: Scenario, out: Path, seed: int = 1) -> None:
    Simulation(scenario, days=DAYS, seed=seed, nameservers=1, start_ms=START_MS, out=out).run()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_journal_has_the_elections_of_the_ground_truth_and_no_others(tmp_path: Path, seed: int) -> None:
    simulate(load_scenario("failovers"), tmp_path / "out", seed)
    truths = read_truth(tmp_path / "out")
    assert {truth.fault for truth in truths} == {"master-killed", "master-frozen", "set-killed", "controller-killed"}
    assert disagreements(tmp_path / "out", start_ms=START_MS) == []


def test_a_missing_election_is_noticed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    simulate(load_scenario("failovers"), out)
    lines = (out / TRUTH_FILE).read_bytes().splitlines(keepends=True)
    killed = next(line for line in lines if b"master-killed" in line)
    (out / TRUTH_FILE).write_bytes(b"".join(line for line in lines if line is not killed))
    (wrong,) = disagreements(out, start_ms=START_MS)
    assert "no fault explains this" in wrong


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    simulate(load_scenario("failovers"), tmp_path / "a")
    simulate(load_scenario("failovers"), tmp_path / "b")
    files = [sorted(path.relative_to(tmp_path / one) for path in (tmp_path / one).rglob("*.*")) for one in "ab"]
    assert files[0] == files[1]
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in files[0])


def test_a_set_fails_over_and_is_in_sync_again(tmp_path: Path) -> None:
    scenario = load_scenario("failovers")
    fault = Fault(kind=FaultKind.MASTER_KILLED, at=Millis(0), lasts=Millis(40_000))
    controller = msgspec.structs.replace(scenario.controller, sets=1)
    simulate(msgspec.structs.replace(scenario, controller=controller, fault=(fault,)), tmp_path / "out")
    events = [record.event for record in read_journal(tmp_path / "out" / "ns-1", minutes=False)]
    first, failover = [event for event in events if isinstance(event, MasterElected)]
    assert (first.broker_id, first.in_sync, failover.broker_id, failover.before_id) == (1, (1,), 2, 1)
    assert failover.before_in_sync == (1, 2, 3)
    changes = [event.in_sync for event in events if isinstance(event, SyncStateChanged)]
    assert changes[-2:] == [(2, 3), (1, 2, 3)]
    assert not [event for event in events if isinstance(event, NoMasterElected)]
    assert [event.leads for event in events if isinstance(event, ControllerLeader)] == [True, False]


def test_without_sets_there_is_no_controller(tmp_path: Path) -> None:
    simulate(load_scenario("quiet-day").sized(brokers=2, topics=2, clients=1), tmp_path / "out")
    kinds = {record.kind for record in read_journal(tmp_path / "out" / "ns-1")}
    assert "controller_leader" not in kinds
