"""Scenario files: what they may say, and what is said of those that say something else."""

from pathlib import Path

import pytest

from routebook.errors import UsageError
from routebook.fleet.scenario import FaultKind, Millis, parse_duration, parse_scenario
from routebook.fleet.scenario_files import load_scenario, shipped_names

SHIPPED = {
    "demo",
    "eventful-days",
    "flapping-broker",
    "quiet-day",
    "rolling-restart",
    "split-brain",
    "topic-storm",
    "zone-loss",
}


def test_a_file_says_as_little_as_it_likes() -> None:
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
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[brokers]\ncuont = 3\n", "cuont"),
        ("[brokers]\ncount = 0\n", ">= 1"),
        ("[brokers]\nheader = 'xml'\n", r"\$\.brokers\.header"),
        ("duration = 'long'\n", "'long' is no duration"),
        ("duration = true\n", "True is no duration"),
        ("[[fault]]\nkind = 'crash'\n", "either `at` or `per_day`"),
        ("[[fault]]\nkind = 'crash'\nat = 1\nper_day = 2\n", "either `at` or `per_day`"),
        ("[[fault]]\nkind = 'crash'\nat = 1\ntimes = 3\n", "`times` needs `every`"),
        ("[[fault]]\nkind = 'crash'\nat = 1\nevery = 0\n", "`every` is more than nothing"),
        ("[[fault]]\nkind = 'explode'\nat = 1\n", "explode"),
        ("[clients.personas]\njava = 0\n", "weights"),
        ("no toml", "is not TOML"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        parse_scenario(text, name="mine.toml")
    assert "mine.toml" in str(caught.value)


def test_all_shipped_scenarios_load_and_say_what_they_are() -> None:
    assert set(shipped_names()) == SHIPPED
    for name in shipped_names():
        scenario = load_scenario(name)
        assert scenario.name == name
        assert scenario.about.endswith(".")


def test_every_kind_of_fault_is_in_the_scenario_of_everything() -> None:
    assert {fault.kind for fault in load_scenario("eventful-days").fault} == set(FaultKind)


def test_a_scenario_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[brokers]\ncount = 3\n")
    assert load_scenario(str(path)).brokers.count == 3


def test_a_scenario_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are demo, eventful-days, flapping-broker"):
        load_scenario("quite-day")
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        load_scenario(str(tmp_path / "none.toml"))
    (tmp_path / "odd.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_scenario(str(tmp_path / "odd.toml"))


def test_other_numbers_within_the_same_bounds() -> None:
    scenario = load_scenario("zone-loss").sized(brokers=30, topics=5, clients=0)
    assert (scenario.brokers.count, scenario.topics.count, scenario.clients.count) == (30, 5, 0)
    assert scenario.brokers.zones == ("north", "south", "west")
    assert scenario.fault == load_scenario("zone-loss").fault
    with pytest.raises(UsageError, match="<= 5000"):
        load_scenario("zone-loss").sized(brokers=5001)
