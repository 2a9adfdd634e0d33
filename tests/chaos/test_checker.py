"""The checker itself: histories that keep the promises pass, and each planted violation is found."""

import pytest

from tests.chaos.checker import Terms, check
from tests.chaos.history import Fault, History, Life, Observation, Seen, Unanswered, Write

TERMS = Terms(timeout_s=4, scan_s=1, period_s=2, answer_s=5)


def seen(at: float, *brokers: str, nameserver: str = "n1") -> Seen:
    return Seen(nameserver=nameserver, began=at, ended=at + 0.01, brokers=frozenset(brokers))


def silent(at: float) -> Unanswered:
    return Unanswered(nameserver="n1", began=at, ended=at + 0.5)


def fault(began: float, ended: float, nameserver: str = "n1") -> Fault:
    return Fault(nameserver=nameserver, kind="kill", began=began, ended=ended)


def life(began: float, ended: float | None = None) -> Life:
    return Life(broker="a", began=began, ended=ended)


def promises(*observations: Observation, lives: list[Life], faults: list[Fault] | None = None) -> list[str]:
    history = History(observations=list(observations), lives=lives, faults=faults or [], ended=1000)
    return [violation.promise for violation in check(history, TERMS)]


def test_a_good_history_passes() -> None:
    observations: list[Observation] = [seen(1, "a"), seen(9, "a"), seen(14.9, "a"), seen(15.1)]
    observations += [silent(21), seen(23), seen(40, "a")]
    assert not promises(*observations, lives=[life(0, 10), life(39)], faults=[fault(20, 22)])


@pytest.mark.parametrize(("at", "found"), [(14.9, []), (15.1, ["ghost"])])
def test_ghost(at: float, found: list[str]) -> None:
    assert promises(seen(at, "a"), lives=[life(0, 10)]) == found


def test_a_broker_that_never_was_is_a_ghost() -> None:
    assert promises(seen(1, "a"), lives=[life(5)]) == ["ghost"]


def test_a_ghost_is_excused_while_its_nameserver_could_not_scan() -> None:
    lives, faults = [life(0, 10)], [fault(11, 30)]
    answers = [seen(30.5)]
    assert not promises(*answers, seen(20, "a"), seen(34.9, "a"), lives=lives, faults=faults)
    assert promises(*answers, seen(35.1, "a"), lives=lives, faults=faults) == ["ghost"]
    elsewhere = [fault(11, 30, nameserver="n2")]
    assert promises(seen(20, "a"), seen(31, nameserver="n2"), lives=lives, faults=elsewhere) == ["ghost"]


@pytest.mark.parametrize(("at", "found"), [(1.9, []), (2.1, ["missing"])])
def test_missing(at: float, found: list[str]) -> None:
    assert promises(seen(at), lives=[life(0)]) == found


def test_missing_is_counted_from_the_end_of_a_fault() -> None:
    assert not promises(seen(11), seen(12.9), lives=[life(0)], faults=[fault(5, 11)])
    assert promises(seen(11), seen(13.1), lives=[life(0)], faults=[fault(5, 11)]) == ["missing"]


def test_a_broker_that_goes_while_one_looks_may_be_there_or_not() -> None:
    looked = Seen(nameserver="n1", began=9.9, ended=10.1, brokers=frozenset())
    assert not promises(looked, lives=[life(0, 10)])


def test_silence_without_a_fault() -> None:
    assert promises(silent(50), lives=[]) == ["silence"]


def test_silence_after_a_fault() -> None:
    assert not promises(silent(10), silent(14), seen(14.9), lives=[], faults=[fault(5, 10)])
    assert promises(silent(14), seen(15.1), lives=[], faults=[fault(5, 10)]) == ["silence"]
    assert not promises(silent(14), lives=[], faults=[fault(5, 10), fault(12, 998)])


def test_lost_writes() -> None:
    writes = [Write(nameserver="n1", key=key, value="1") for key in "abc"]
    history = History(writes=writes, kept={("n1", "a"): "1", ("n1", "b"): "0"}, ended=1)
    assert [(found.promise, found.about[0]) for found in check(history, TERMS)] == [("lost", "b"), ("lost", "c")]


def test_grace_is_added() -> None:
    generous = Terms(timeout_s=4, scan_s=1, period_s=2, answer_s=5, grace_s=3)
    history = History(observations=[seen(4.9), seen(17.9, "a")], lives=[life(0, 10)], ended=100)
    assert not check(history, generous)
    assert len(check(history, TERMS)) == 2
