"""docs/fleet.md names every key, every kind of fault and every shipped scenario."""

import re
from pathlib import Path

import msgspec

from routebook.fleet.client_profiles import CLIENT_PROFILES
from routebook.fleet.scenario import (
    BrokerTerms,
    ClientTerms,
    Fault,
    FaultKind,
    Scenario,
    TopicTerms,
    load_scenario,
    shipped_names,
)
from routebook.fleet.virtual.truth import Expected, Truth

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "fleet.md").read_text()
WORDS = set(re.findall(r"`\[?\[?(\w+)", PAGE))


def test_every_key_is_named() -> None:
    for table in (Scenario, BrokerTerms, TopicTerms, ClientTerms, Fault):
        keys = {field.encode_name for field in msgspec.structs.fields(table)}
        assert keys <= WORDS, keys - WORDS


def test_every_field_of_truth_is_named() -> None:
    for line in (Truth, Expected):
        names = {field.encode_name for field in msgspec.structs.fields(line)}
        assert names <= WORDS, names - WORDS


def test_every_kind_profile_and_scenario_is_named() -> None:
    for kind in FaultKind:
        assert re.search(rf"^\| {kind}", PAGE, re.MULTILINE), kind
    for profile in CLIENT_PROFILES.values():
        assert f"| {profile.name} | {profile.version} | {profile.language} |" in PAGE
    for name in shipped_names():
        assert f"| `{name}` |" in PAGE


def test_the_example_is_a_scenario() -> None:
    assert load_scenario(str(ROOT / "examples" / "scenario.toml")).brokers.count == 5
