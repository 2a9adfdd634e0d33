"""Scenario files: valid keys, defaults and error messages."""

from pathlib import Path

import pytest

from routebook.errors import UsageError
from routebook.fleet.scenario import FaultKind, Millis, load_scenario, parse_duration, parse_scenario, shipped_names

SHIPPED = {
    "demo",
    "eventful-days",
    "failovers",
    "flapping-broker",
    "quiet-day",
    "rolling-restart",
    "split-brain",
    "topic-storm",
    "zone-loss",
}


def test_all_keys_have_defaults() -> None:
    scenario = parse_scenario('[[fault]]\nkind = "crash"\nat = "1m30s"\nfor = 45\n', name="mine")
    assert scenario.name == "mine"
    assert scenario.brokers.register_every == 30_000
    (fault,) = scenario.fault
    assert (fault.kind, fault.at, fault.lasts, fault.target) == (FaultKind.CRASH, 90_000, 45_000, "any")


@pytest.mark.parametrize(
    ("text", "millis"), [("500ms", 500), ("30s", 30_000), ("1h30m", 5_400_000), ("2d", 172_800_000), ("1.5", 1500)]
)
def test_durations(text: str, millis: int) -> None:
    assert parse_duration(text) == Millis(millis)


@pytest.mark.parametrize("text", ["", "soon", "5 s", "1m nonsense", "-1s", "1s1"])
def test_invalid_durations_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[brokers]\ncuont = 3\n", "cuont"),
        ("[brokers]\ncount = 0\n", ">= 1"),
        ("[brokers]\nheader = 'xml'\n", r"\$\.brokers\.header"),
        ("duration = 'long'\n", "'long' is not a duration"),
        ("duration = true\n", "True is not a duration"),
        ("[[fault]]\nkind = 'crash'\n", "either `at` or `per_day`"),
        ("[[fault]]\nkind = 'crash'\nat = 1\nper_day = 2\n", "either `at` or `per_day`"),
        ("[[fault]]\nkind = 'crash'\nat = 1\ntimes = 3\n", "`times` needs `every`"),
        ("[[fault]]\nkind = 'crash'\nat = 1\nevery = 0\n", "`every` must be greater than 0"),
        ("[[fault]]\nkind = 'explode'\nat = 1\n", "explode"),
        ("[clients.personas]\njava = 0\n", "weights"),
        ("no toml", "is not TOML"),
    ],
)
def test_an_error_names_its_place(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_scenario(text, name="mine.toml")
    assert "mine.toml" in str(caught.value)


def test_all_shipped_scenarios_load_and_have_a_description() -> None:
    assert set(shipped_names()) == SHIPPED
    for name in shipped_names():
        scenario = load_scenario(name)
        assert scenario.name == name
        assert scenario.about.endswith(".")


def test_eventful_days_and_failovers_have_every_kind_of_fault() -> None:
    kinds = [{fault.kind for fault in load_scenario(name).fault} for name in ("eventful-days", "failovers")]
    only_with_a_group = {FaultKind.MASTER_CUT, FaultKind.CONTROLLER_CUT, FaultKind.ETCD_KILLED}
    assert set.union(*kinds) == set(FaultKind) - only_with_a_group  # tests/e2e/test_fleet_controller_group.py has these


def test_a_scenario_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[brokers]\ncount = 3\n")
    assert load_scenario(str(path)).brokers.count == 3


def test_an_unknown_scenario_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="use one of demo, eventful-days, failovers, flapping-broker"):
        load_scenario("quite-day")
    with pytest.raises(UsageError, match=r"cannot read scenario .*: No such file"):
        load_scenario(str(tmp_path / "none.toml"))
    (tmp_path / "odd.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_scenario(str(tmp_path / "odd.toml"))


def test_sizes_can_be_overridden_within_limits() -> None:
    scenario = load_scenario("zone-loss").sized(brokers=30, topics=5, clients=0)
    assert (scenario.brokers.count, scenario.topics.count, scenario.clients.count) == (30, 5, 0)
    assert scenario.brokers.zones == ("north", "south", "west")
    assert scenario.fault == load_scenario("zone-loss").fault
    with pytest.raises(UsageError, match="<= 5000"):
        load_scenario("zone-loss").sized(brokers=5001)
