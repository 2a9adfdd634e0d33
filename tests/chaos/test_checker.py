"""The checker itself: correct histories pass, and each planted violation is found."""

import pytest

from tests.chaos.checker import Terms, check
from tests.chaos.history import Fault, History, Observation, Seen, Unanswered, Uptime, Write

TERMS = Terms(timeout_s=4, scan_s=1, period_s=2, answer_s=5)


def seen(at: float, *brokers: str, nameserver: str = "n1") -> Seen:
    return Seen(nameserver=nameserver, began=at, ended=at + 0.01, brokers=frozenset(brokers))


def silent(at: float) -> Unanswered:
    return Unanswered(nameserver="n1", began=at, ended=at + 0.5)


def fault(began: float, ended: float, nameserver: str = "n1") -> Fault:
    return Fault(nameserver=nameserver, kind="kill", began=began, ended=ended)


def uptime(began: float, ended: float | None = None) -> Uptime:
    return Uptime(broker="a", began=began, ended=ended)


def violated(*observations: Observation, uptimes: list[Uptime], faults: list[Fault] | None = None) -> list[str]:
    history = History(observations=list(observations), uptimes=uptimes, faults=faults or [], ended=1000)
    return [violation.guarantee for violation in check(history, TERMS)]


def test_a_correct_history_passes() -> None:
    observations: list[Observation] = [seen(1, "a"), seen(9, "a"), seen(14.9, "a"), seen(15.1)]
    observations += [silent(21), seen(23), seen(40, "a")]
    assert not violated(*observations, uptimes=[uptime(0, 10), uptime(39)], faults=[fault(20, 22)])


@pytest.mark.parametrize(("at", "found"), [(14.9, []), (15.1, ["ghost"])])
def test_a_broker_in_a_route_after_its_timeout_is_a_ghost(at: float, found: list[str]) -> None:
    assert violated(seen(at, "a"), uptimes=[uptime(0, 10)]) == found


def test_a_broker_that_never_existed_is_a_ghost() -> None:
    assert violated(seen(1, "a"), uptimes=[uptime(5)]) == ["ghost"]


def test_a_ghost_is_permitted_while_its_nameserver_could_not_scan() -> None:
    uptimes, faults = [uptime(0, 10)], [fault(11, 30)]
    answers = [seen(30.5)]
    assert not violated(*answers, seen(20, "a"), seen(34.9, "a"), uptimes=uptimes, faults=faults)
    assert violated(*answers, seen(35.1, "a"), uptimes=uptimes, faults=faults) == ["ghost"]
    elsewhere = [fault(11, 30, nameserver="n2")]
    assert violated(seen(20, "a"), seen(31, nameserver="n2"), uptimes=uptimes, faults=elsewhere) == ["ghost"]


@pytest.mark.parametrize(("at", "found"), [(1.9, []), (2.1, ["missing"])])
def test_a_live_broker_outside_its_route_is_missing(at: float, found: list[str]) -> None:
    assert violated(seen(at), uptimes=[uptime(0)]) == found


def test_missing_is_counted_from_the_end_of_a_fault() -> None:
    assert not violated(seen(11), seen(12.9), uptimes=[uptime(0)], faults=[fault(5, 11)])
    assert violated(seen(11), seen(13.1), uptimes=[uptime(0)], faults=[fault(5, 11)]) == ["missing"]


def test_a_broker_that_stops_during_a_look_up_may_be_in_its_result() -> None:
    looked = Seen(nameserver="n1", began=9.9, ended=10.1, brokers=frozenset())
    assert not violated(looked, uptimes=[uptime(0, 10)])


def test_no_answer_without_a_fault_is_silence() -> None:
    assert violated(silent(50), uptimes=[]) == ["silence"]


def test_no_answer_long_after_a_fault_is_silence() -> None:
    assert not violated(silent(10), silent(14), seen(14.9), uptimes=[], faults=[fault(5, 10)])
    assert violated(silent(14), seen(15.1), uptimes=[], faults=[fault(5, 10)]) == ["silence"]
    assert not violated(silent(14), uptimes=[], faults=[fault(5, 10), fault(12, 998)])


def test_acknowledged_writes_that_are_missing_are_lost() -> None:
    writes = [Write(nameserver="n1", key=key, value="1") for key in "abc"]
    history = History(writes=writes, kept={("n1", "a"): "1", ("n1", "b"): "0"}, ended=1)
    assert [(found.guarantee, found.about[0]) for found in check(history, TERMS)] == [("lost", "b"), ("lost", "c")]


def test_grace_is_added_to_each_time() -> None:
    lenient = Terms(timeout_s=4, scan_s=1, period_s=2, answer_s=5, grace_s=3)
    history = History(observations=[seen(4.9), seen(17.9, "a")], uptimes=[uptime(0, 10)], ended=100)
    assert not check(history, lenient)
    assert len(check(history, TERMS)) == 2
