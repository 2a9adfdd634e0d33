"""Who is in a fleet."""

from ipaddress import ip_address

import pytest

from routebook.fleet.population import take_census
from routebook.fleet.scenario import Scenario, parse_scenario


def scenario(text: str = "") -> Scenario:
    return parse_scenario(text, name="mine")


@pytest.mark.parametrize("count", [1, 2, 3, 12, 300, 1001])
@pytest.mark.parametrize("paired", [0.0, 0.3, 0.5, 1.0])
def test_as_many_brokers_as_asked_for(count: int, paired: float) -> None:
    census = take_census(scenario(f"[brokers]\ncount = {count}\npaired = {paired}\n"), 1)
    assert [member.number for member in census.members] == list(range(count))
    pairs = sum(len(group.members) == 2 for group in census.groups)
    assert abs(pairs - paired * len(census.groups)) <= 1
    assert all([m.broker_id for m in group.members] in ([0], [0, 1]) for group in census.groups)


def test_addresses_are_all_different_and_lead_nowhere_else() -> None:
    members = take_census(scenario("[brokers]\ncount = 5000\n"), 1).members
    assert len({member.addr for member in members}) == 5000
    assert all(ip_address(member.host).is_loopback for member in members)


def test_topics_stand_where_the_placement_says() -> None:
    census = take_census(scenario("[brokers]\ncount = 9\n[topics]\ncount = 50\nspread = 4\n"), 1)
    there = {(topic.topic_name, group.name) for group in census.groups for topic in group.topics}
    assert there == {(topic, name) for topic, names in census.placement.items() for name in names}
    assert sorted({len(names) for names in census.placement.values()}) == [1, 4]


def test_a_small_fleet_has_each_topic_where_it_can() -> None:
    census = take_census(scenario("[brokers]\ncount = 2\n[topics]\nspread = 10\n"), 1)
    assert max(len(names) for names in census.placement.values()) == 2


def test_clusters_zones_and_clients() -> None:
    text = (
        '[brokers]\ncount = 6\npaired = 1\nclusters = 2\nzones = ["a", "b", "c"]\n[clients]\ncount = 12\ntopics = 2\n'
    )
    census = take_census(scenario(text), 1)
    assert {group.cluster for group in census.groups} == {"cluster-1", "cluster-2"}
    assert [[m.zone for m in group.members] for group in census.groups] == [["a", "a"], ["b", "b"], ["c", "c"]]
    assert {client.persona.name for client in census.clients} == {"java", "go", "cpp", "node"}
    assert all(len(client.topics) == 2 and 0 <= client.phase < 1 for client in census.clients)
    assert census.clients[0].topics_asked[-1] == "%RETRY%group-001"


def test_no_topics_no_clients() -> None:
    census = take_census(scenario("[topics]\ncount = 0\n[clients]\ncount = 0\n"), 1)
    assert (census.placement, census.clients) == ({}, ())
    assert take_census(scenario("[topics]\ncount = 0\n[clients]\ncount = 1\n"), 1).clients[0].topics == ()


def test_the_same_seed_the_same_fleet() -> None:
    assert take_census(scenario(), 7) == take_census(scenario(), 7)
    assert take_census(scenario(), 7) != take_census(scenario(), 8)
