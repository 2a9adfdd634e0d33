"""Simulations in virtual time: reproducible, complete, and consistent with the ground truth."""

import hashlib
from pathlib import Path
from typing import Final

import pytest

from routebook.errors import UsageError
from routebook.events import HeartbeatMinute, LookupMinute, PreservationEntered, PreservationLeft, ServerStarted
from routebook.fleet.scenario import Scenario, load_scenario, parse_scenario, shipped_names
from routebook.fleet.virtual.fleet import VirtualFleet
from routebook.fleet.virtual.simulation import Simulation, SimulationReport
from routebook.journal.files import FolderFiles
from routebook.journal.read.verify import verify
from routebook.rollup import percentile
from tests.support.fleet_truth import disagreements, read_journal, read_truth

START_MS: Final = 1_767_225_600_000
EVERYTHING: Final = """
[topics]
count = 20
[clients]
count = 4
[brokers]
count = 24
paired = 0.5
{terms}
[[fault]]
kind = "crash"
per_day = 60
for = "20s"
[[fault]]
kind = "crash"
per_day = 30
silent = true
for = "4m"
[[fault]]
kind = "stop"
per_day = 60
for = "20s"
[[fault]]
kind = "freeze"
per_day = 30
for = "3m"
[[fault]]
kind = "freeze"
per_day = 30
for = "30s"
[[fault]]
kind = "cut"
per_day = 40
for = "3m"
[[fault]]
kind = "cut"
per_day = 40
for = "75s"
[[fault]]
kind = "cut"
per_day = 40
for = "15s"
[[fault]]
kind = "flap"
per_day = 10
for = "2m"
[[fault]]
kind = "slow"
per_day = 20
for = "5m"
[[fault]]
kind = "switch"
per_day = 60
[[fault]]
kind = "churn"
per_day = 200
[[fault]]
kind = "restart"
per_day = 12
for = "20s"
"""


def simulate(scenario: Scenario, out: Path, *, days: float, seed: int = 1, nameservers: int = 3) -> SimulationReport:
    simulation = Simulation(scenario, days=days, seed=seed, nameservers=nameservers, start_ms=START_MS, out=out)
    return simulation.run()


def everything(terms: str = "") -> Scenario:
    return parse_scenario(EVERYTHING.format(terms=terms), name="everything")


def digests(out: Path) -> dict[str, str]:
    files = sorted(path for path in out.rglob("*") if path.is_file())
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("one", 5), ("two", 5), ("other", 6)):
        simulate(everything(), tmp_path / name, days=0.2, seed=seed)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")
    assert digests(tmp_path / "one").keys() != digests(tmp_path / "other").keys()


@pytest.mark.parametrize(
    ("terms", "days"),
    [
        ("", 0.5),
        ("force_register = false", 0.3),
        ("split = 5", 0.2),
        ("compressed = true", 0.2),
        ("single_topic_register = true", 0.2),
        ('acting_master = "compatible"', 0.1),
        ('acting_master = "new"', 0.1),
    ],
)
def test_journals_match_the_ground_truth_exactly(terms: str, days: float, tmp_path: Path) -> None:
    report = simulate(everything(terms), tmp_path, days=days, seed=11)
    assert disagreements(tmp_path, start_ms=START_MS) == []
    for name, records in report.records.items():
        verdict = verify(FolderFiles(tmp_path / name))
        assert verdict.whole
        assert verdict.records == records
        assert verdict.nameservers == (name,)
    truths = read_truth(tmp_path)
    assert len(truths) == sum(report.incidents.values()) > 10
    assert [truth.at for truth in truths] == sorted(truth.at for truth in truths)


@pytest.mark.parametrize("seed", [5, 8, 34])
def test_a_return_after_the_end_is_not_certain(seed: int, tmp_path: Path) -> None:
    text = '[brokers]\ncount = 12\n[[fault]]\nkind = "cut"\nper_day = 1000\nfor = "3m"\n'
    simulate(parse_scenario(text, name="cuts"), tmp_path / "out", days=0.01, seed=seed, nameservers=1)
    expected = [one for truth in read_truth(tmp_path / "out") for one in truth.expect]
    assert any(not one.certain for one in expected if one.to_ms > START_MS + 0.01 * 86_400_000)
    assert disagreements(tmp_path / "out", start_ms=START_MS) == []


def test_a_missing_fault_in_the_truth_is_detected(tmp_path: Path) -> None:
    """The check above can fail: without its entry in the truth, an event has no explanation."""
    simulate(everything(), tmp_path, days=0.1, seed=11)
    whole = (tmp_path / "truth.jsonl").read_bytes().splitlines(keepends=True)
    crash = next(line for line in whole if b'"fault":"crash"' in line)
    (tmp_path / "truth.jsonl").write_bytes(b"".join(line for line in whole if line != crash))
    assert any("no fault explains this" in wrong for wrong in disagreements(tmp_path, start_ms=START_MS))
    (tmp_path / "truth.jsonl").write_bytes(b"".join([*whole, crash]))
    assert any("not there" in wrong for wrong in disagreements(tmp_path, start_ms=START_MS))


@pytest.mark.slow
@pytest.mark.parametrize("terms", ["", "force_register = false", 'acting_master = "compatible"'])
def test_the_closed_form_equals_processing_every_heartbeat(
    terms: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = 0.03 if "acting" in terms else 0.2
    simulate(everything(terms), tmp_path / "closed", days=days, seed=3)
    monkeypatch.setattr(VirtualFleet, "_is_regular", lambda *_: False)
    simulate(everything(terms), tmp_path / "one by one", days=days, seed=3)
    assert digests(tmp_path / "closed") == digests(tmp_path / "one by one")


def test_every_minute_has_a_row_for_each_broker_and_poll(tmp_path: Path) -> None:
    scenario = parse_scenario("[brokers]\ncount = 3\n[clients]\ncount = 2\ntopics = 1\n", name="calm")
    simulate(scenario, tmp_path, days=0.25, nameservers=1)
    records = read_journal(tmp_path / "ns-1")
    beats = [record.event for record in records if isinstance(record.event, HeartbeatMinute)]
    assert len(beats) == 3 * 360
    assert sum(row.count for row in beats[3:]) == 3 * 359 * 2  # without the first minute
    assert 29_000 < (percentile(beats[9].gaps_ms, 0.5) or 0) < 31_000
    lookups = [record.event for record in records if isinstance(record.event, LookupMinute)]
    assert sum(row.count for row in lookups) == 2 * 2 * 360 * 2
    assert {row.misses > 0 for row in lookups if row.topic.startswith("%RETRY%")} == {True}
    assert all(row.bytes > 100 for row in lookups[8:] if not row.topic.startswith("%RETRY%"))


def test_a_restart_keeps_all_brokers(tmp_path: Path) -> None:
    scenario = parse_scenario(
        '[brokers]\ncount = 6\n[[fault]]\nkind = "restart"\nat = "1h"\nfor = "20s"\nnameserver = 1\n', name="restart"
    )
    simulate(scenario, tmp_path, days=0.25, nameservers=2)
    records = read_journal(tmp_path / "ns-1", minutes=False)
    starts = [record.event for record in records if isinstance(record.event, ServerStarted)]
    assert [start.recovered for start in starts] == [0, 6]
    assert len({record.boot for record in records}) == 2
    kinds = [record.kind for record in records if record.boot != records[0].boot]
    assert kinds == ["server_started", *["broker_returned"] * 6, "server_stopped"]
    other = read_journal(tmp_path / "ns-2", minutes=False)
    assert len({record.boot for record in other}) == 1


def test_clients_of_a_stopped_nameserver_use_the_next(tmp_path: Path) -> None:
    scenario = parse_scenario(
        "[brokers]\ncount = 2\n[clients]\ncount = 2\n[clients.personas]\njava = 1\n"
        '[[fault]]\nkind = "restart"\nat = "0s"\nfor = "10m"\nnameserver = 1\n',
        name="restart",
    )
    simulate(scenario, tmp_path, days=0.25, nameservers=2)
    at_ms = START_MS + 3 * 3_600_000
    minutes = {}
    for name in ("ns-1", "ns-2"):
        events = [record.event for record in read_journal(tmp_path / name)]
        rows = [event for event in events if isinstance(event, LookupMinute) and event.minute_ms > at_ms]
        minutes[name] = {event.client for event in rows}
    assert minutes == {"ns-1": set(), "ns-2": {"127.32.0.1", "127.32.0.2"}}


def test_mass_expiry_protection_keeps_brokers(tmp_path: Path) -> None:
    scenario = parse_scenario(
        '[brokers]\ncount = 10\n[[fault]]\nkind = "cut"\ntarget = "share:0.8"\nat = "1m"\nfor = "5m"\nnameserver = 1\n',
        name="cut",
    )
    simulate(scenario, tmp_path, days=0.25, nameservers=2)
    kinds = [type(record.event) for record in read_journal(tmp_path / "ns-1", minutes=False)]
    assert kinds.count(PreservationEntered) == kinds.count(PreservationLeft) == 1
    assert disagreements(tmp_path, start_ms=START_MS) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_names())
def test_shipped_scenarios_run_in_virtual_time(name: str, tmp_path: Path) -> None:
    report = simulate(load_scenario(name), tmp_path, days=0.3, nameservers=2)
    assert report.scenario == name
    assert disagreements(tmp_path, start_ms=START_MS) == []


def test_progress_is_reported(tmp_path: Path) -> None:
    heard: list[float] = []
    scenario = parse_scenario("[brokers]\ncount = 2\n", name="calm")
    Simulation(scenario, days=0.5, seed=1, nameservers=1, start_ms=START_MS, out=tmp_path).run(heard.append)
    assert len(heard) >= 12
    assert heard == sorted(heard)


def test_invalid_parameters_are_rejected(tmp_path: Path) -> None:
    scenario = everything()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()

    def wrong(*, days: float = 1, nameservers: int = 1, start_ms: int = START_MS, out: Path = tmp_path / "new") -> None:
        Simulation(scenario, days=days, seed=1, nameservers=nameservers, start_ms=start_ms, out=out)

    with pytest.raises(UsageError, match="greater than 0"):
        wrong(days=0)
    with pytest.raises(UsageError, match="NameServers: must be 1 to"):
        wrong(nameservers=0)
    with pytest.raises(UsageError, match="full minute"):
        wrong(start_ms=START_MS + 1)
    with pytest.raises(UsageError, match="not an empty folder"):
        wrong(out=tmp_path / "full")
    with pytest.raises(UsageError, match="cannot write"):
        wrong(out=tmp_path / "full" / "mine" / "below")
