"""The schedule of faults."""

import pytest

from routebook.errors import UsageError
from routebook.fleet.broker_requests import BrokerRequests
from routebook.fleet.incidents import (
    DAY_MS,
    RECOVERY_MS,
    Incident,
    Schedule,
    TopicChange,
    apply_topic_change,
    build_schedule,
)
from routebook.fleet.population import Population, build_population
from routebook.fleet.scenario import FaultKind, load_scenario, parse_scenario
from routebook.model import TopicConfig

FLEET = '[brokers]\ncount = 12\npaired = 0.5\nzones = ["a", "b"]\n'


def schedule(
    faults: str, *, seed: int = 1, duration_ms: int = 3_600_000, daily: bool = False, nameservers: int = 2
) -> tuple[Population, Schedule]:
    scenario = parse_scenario(f'duration = "1h"\n{FLEET}{faults}', name="mine")
    population = build_population(scenario, seed)
    made = build_schedule(
        scenario, population, seed=seed, duration_ms=duration_ms, nameservers=nameservers, daily=daily
    )
    return population, made


def fault(kind: str, **fields: object) -> str:
    lines = "".join(f"{name} = {value!r}\n" for name, value in fields.items()).replace("True", "true")
    return f"[[fault]]\nkind = '{kind}'\n{lines}"


def test_a_fault_at_a_time_with_repetitions() -> None:
    _, made = schedule(fault("stop", at="1m", every="10m", times=3, **{"for": "45s"}))
    assert [(one.at_ms, one.lasts_ms) for one in made.incidents] == [(60_000 + k * 600_000, 45_000) for k in range(3)]


def test_target_each_takes_every_broker_once() -> None:
    population, made = schedule(fault("stop", target="each", at="0s", every="4m"))
    assert [one.members for one in made.incidents] == [(member,) for member in population.members]


def test_timed_faults_repeat_daily_in_virtual_time() -> None:
    _, made = schedule(fault("crash", at="1m"), duration_ms=3 * DAY_MS, daily=True)
    assert [one.at_ms for one in made.incidents] == [3 * 3_600_000 + 60_000 + day * DAY_MS for day in range(3)]


def test_per_day_gives_the_expected_number_of_faults() -> None:
    _, made = schedule(fault("crash", per_day=10, **{"for": "1s"}), duration_ms=100 * DAY_MS)
    assert 850 < len(made.incidents) + made.left_out < 1150
    assert made.left_out < 50


@pytest.mark.parametrize(
    ("target", "hit"),
    [
        ("all", 12),
        ("share:0.34", 4),
        ("zone:a", 6),
        ("broker-002", 2),
        ("127.16.0.1:10911", 1),
        ("any", 1),
        ("any:5", 5),
        ("any:50", 12),
    ],
)
def test_targets(target: str, hit: int) -> None:
    _, made = schedule(fault("crash", target=target, at="1m"))
    (one,) = made.incidents
    assert len(one.members) == hit
    assert len(set(one.members)) == hit


@pytest.mark.parametrize("target", ["zone:c", "broker-999", "", "any:some", "share:half"])
def test_an_unknown_target_is_rejected(target: str) -> None:
    with pytest.raises(UsageError, match="target"):
        schedule(fault("crash", target=target, at="1m"))


def test_a_broker_has_one_incident_at_a_time() -> None:
    """With time to recover in between; overlapping incidents are left out and counted."""
    _, made = schedule(
        fault("crash", target="any", per_day=400) + fault("freeze", target="any", per_day=400, **{"for": "3m"}),
        duration_ms=DAY_MS,
    )
    until: dict[int, int] = {}
    for one in made.incidents:
        for member in one.members:
            assert until.get(member.number, -1) < one.at_ms
            until[member.number] = one.until_ms + RECOVERY_MS


def test_in_virtual_time_brokers_have_no_incident_around_a_restart() -> None:
    faults = fault("restart", at="30m", nameserver=2) + fault("crash", at="0s", every="1m", times=59)
    _, made = schedule(faults, daily=True, duration_ms=DAY_MS)
    (restart,) = [one for one in made.incidents if one.kind is FaultKind.RESTART]
    assert (restart.nameserver, restart.members) == (1, ())
    crashes = [one for one in made.incidents if one.kind is FaultKind.CRASH]
    assert crashes
    assert made.left_out == 59 - len(crashes)
    for one in crashes:
        assert one.until_ms + RECOVERY_MS <= restart.at_ms or one.at_ms >= restart.until_ms + RECOVERY_MS


def test_a_live_fleet_has_faults_before_and_after_a_restart() -> None:
    faults = fault("restart", at="30m", nameserver=2) + fault("crash", at="0s", every="1m", times=59)
    _, made = schedule(faults)
    (restart,) = [one for one in made.incidents if one.kind is FaultKind.RESTART]
    times = [one.at_ms for one in made.incidents if one.kind is FaultKind.CRASH]
    assert any(restart.at_ms - 120_000 <= at_ms < restart.at_ms for at_ms in times)
    assert any(restart.until_ms <= at_ms <= restart.until_ms + 120_000 for at_ms in times)


def test_an_incident_beyond_the_end_of_virtual_time_is_left_out() -> None:
    _, made = schedule(fault("crash", at="59m50s"))
    assert (len(made.incidents), made.left_out) == (1, 0)
    _, made = schedule(fault("crash", at="20h59m50s"), duration_ms=DAY_MS, daily=True)
    assert (made.incidents, made.left_out) == ((), 1)


def test_a_cut_affects_an_existing_nameserver() -> None:
    _, made = schedule(fault("cut", at="1m", nameserver=7) + fault("cut", at="2m"))
    assert made.incidents[0].nameserver == 1
    assert made.incidents[1].nameserver in (0, 1)


def test_a_flap_ends_within_its_duration() -> None:
    _, made = schedule(fault("flap", at="1m", down="5s", up="10s", **{"for": "1m"}))
    (one,) = made.incidents
    assert one.downs == tuple((60_000 + k * 15_000, 65_000 + k * 15_000) for k in range(4))


def test_a_slow_broker_keeps_its_lease() -> None:
    _, made = schedule(fault("slow", at="1m", delay="1h"))
    assert made.incidents[0].delay_ms == 60_000  # two thirds of the timeout less the period


def test_roles_switch_within_groups() -> None:
    _, made = schedule(fault("switch", at="1m", every="5m", times=5))
    assert len(made.incidents) == 5
    for one in made.incidents:
        assert [member.broker_id for member in one.members] == [0, 1]
        assert len({member.broker for member in one.members}) == 1


def test_churn_creates_before_it_changes_or_deletes() -> None:
    _, made = schedule(fault("churn", at="0s", every="1s", times=600))
    assert len(made.incidents) == 600
    there: dict[str, tuple[str, ...]] = {}
    seen = set()
    for one in made.incidents:
        change = one.change
        assert change is not None
        name = change.topic.topic_name
        seen.add((change.created, change.deleted))
        assert tuple(member.broker for member in one.members) == change.groups
        if change.created:
            assert name not in there
            there[name] = change.groups
        else:
            assert there[name] == change.groups
            if change.deleted:
                del there[name]
    assert seen == {(True, False), (False, False), (False, True)}


def test_the_same_seed_gives_the_same_faults() -> None:
    scenario = load_scenario("eventful-days")

    def made(seed: int) -> tuple[Incident, ...]:
        population = build_population(scenario, seed)
        return build_schedule(
            scenario, population, seed=seed, duration_ms=5 * DAY_MS, nameservers=3, daily=True
        ).incidents

    assert made(3) == made(3)
    assert made(3) != made(4)
    assert [one.at_ms for one in made(3)] == sorted(one.at_ms for one in made(3))


def test_a_topic_change_is_applied_to_the_master_and_copied_by_the_slave() -> None:
    scenario = parse_scenario(FLEET, name="mine")
    group = next(group for group in build_population(scenario, 1).groups if len(group.members) == 2)
    master, slave = (BrokerRequests(member, scenario.brokers, (), now_ms=0) for member in group.members)
    change = TopicChange(topic=TopicConfig(topic_name="new"), groups=(group.name,), created=True)
    apply_topic_change([slave, master], change, 5)
    assert "new" in master.topics
    assert (slave.topics, slave.version) == (master.topics, master.version)
    apply_topic_change([slave, master], TopicChange(topic=change.topic, groups=change.groups, deleted=True), 6)
    assert "new" not in master.topics
    assert "new" not in slave.topics
