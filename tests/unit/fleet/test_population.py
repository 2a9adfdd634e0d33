"""The brokers, topics and clients of a scenario."""

from ipaddress import ip_address

import pytest

from routebook.fleet.population import build_population
from routebook.fleet.scenario import Scenario, parse_scenario


def scenario(text: str = "") -> Scenario:
    return parse_scenario(text, name="mine")


@pytest.mark.parametrize("count", [1, 2, 3, 12, 300, 1001])
@pytest.mark.parametrize("paired", [0.0, 0.3, 0.5, 1.0])
def test_the_number_of_brokers_is_exact(count: int, paired: float) -> None:
    population = build_population(scenario(f"[brokers]\ncount = {count}\npaired = {paired}\n"), 1)
    assert [member.number for member in population.members] == list(range(count))
    pairs = sum(len(group.members) == 2 for group in population.groups)
    assert abs(pairs - paired * len(population.groups)) <= 1
    assert all([m.broker_id for m in group.members] in ([0], [0, 1]) for group in population.groups)


def test_addresses_are_unique_and_local() -> None:
    members = build_population(scenario("[brokers]\ncount = 5000\n"), 1).members
    assert len({member.addr for member in members}) == 5000
    assert all(ip_address(member.host).is_loopback for member in members)


def test_groups_have_the_topics_placed_on_them() -> None:
    population = build_population(scenario("[brokers]\ncount = 9\n[topics]\ncount = 50\nspread = 4\n"), 1)
    there = {(topic.topic_name, group.name) for group in population.groups for topic in group.topics}
    assert there == {(topic, name) for topic, names in population.placement.items() for name in names}
    assert sorted({len(names) for names in population.placement.values()}) == [1, 4]


def test_the_spread_is_limited_by_the_number_of_groups() -> None:
    population = build_population(scenario("[brokers]\ncount = 2\n[topics]\nspread = 10\n"), 1)
    assert max(len(names) for names in population.placement.values()) == 2


def test_clusters_zones_and_clients() -> None:
    text = (
        '[brokers]\ncount = 6\npaired = 1\nclusters = 2\nzones = ["a", "b", "c"]\n[clients]\ncount = 12\ntopics = 2\n'
    )
    population = build_population(scenario(text), 1)
    assert {group.cluster for group in population.groups} == {"cluster-1", "cluster-2"}
    assert [[m.zone for m in group.members] for group in population.groups] == [["a", "a"], ["b", "b"], ["c", "c"]]
    assert {client.profile.name for client in population.clients} == {"java", "go", "cpp", "node"}
    assert all(len(client.topics) == 2 and 0 <= client.phase < 1 for client in population.clients)
    assert population.clients[0].topics_asked[-1] == "%RETRY%group-001"


def test_a_fleet_without_topics_or_clients() -> None:
    population = build_population(scenario("[topics]\ncount = 0\n[clients]\ncount = 0\n"), 1)
    assert (population.placement, population.clients) == ({}, ())
    assert build_population(scenario("[topics]\ncount = 0\n[clients]\ncount = 1\n"), 1).clients[0].topics == ()


def test_the_same_seed_gives_the_same_fleet() -> None:
    assert build_population(scenario(), 7) == build_population(scenario(), 7)
    assert build_population(scenario(), 7) != build_population(scenario(), 8)
