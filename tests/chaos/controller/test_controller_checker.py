"""The checker itself: correct histories pass, and each planted violation is found."""

from typing import Any

from tests.chaos.controller.checker import check
from tests.chaos.controller.history import History, IdGiven, NextId, Seen, Unknown


def seen(at: float, master: int, epoch: int, members: set[int], members_epoch: int, **other: Any) -> Seen:
    return Seen(
        **{
            "of": "b-a",
            "source": "1004",
            "began": at,
            "ended": at + 0.1,
            "master": master,
            "master_epoch": epoch,
            "members": frozenset(members),
            "members_epoch": members_epoch,
            **other,
        }
    )


def violated(**history: Any) -> list[str]:
    return [violation.guarantee for violation in check(History(**history)).violations]


CORRECT = [
    seen(1, 1, 1, {1}, 1, elected=True),
    seen(2, 1, 1, {1, 2}, 2),
    seen(3, 2, 2, {2}, 3, elected=True),
    seen(4, 0, 3, {2}, 3),  # the last broker was lost
]


def test_a_correct_history_passes() -> None:
    verdict = check(History(seen=CORRECT))
    assert verdict.violations == []
    assert (verdict.elections, verdict.judged_elections) == (2, 1)


def test_two_masters_or_two_sets_in_one_epoch() -> None:
    assert violated(seen=[*CORRECT, seen(3, 1, 2, {2}, 3)]) == ["two masters"]
    assert violated(seen=[*CORRECT, seen(3, 2, 2, {1, 2}, 3)]) == ["two masters"]


def test_an_epoch_that_decreases_is_a_lost_change() -> None:
    assert violated(seen=[*CORRECT, seen(5, 1, 1, {1, 2}, 2)]) == ["lost", "lost"]
    overlapping = seen(2.95, 1, 1, {1, 2}, 2, ended=3.5)
    assert violated(seen=[*CORRECT, overlapping]) == []
    assert violated(seen=[*CORRECT, seen(5, 1, 1, {1, 2}, 2, notified=True)]) == [], "notifications may be late"
    early = seen(1.5, 2, 2, {2}, 3, notified=True, ended=1.6)
    assert violated(seen=[*CORRECT, early]) == ["lost", "lost"], "but what they announce is committed"


def test_a_master_outside_the_sync_state_set() -> None:
    assert violated(seen=[*CORRECT[:2], seen(3, 3, 2, {3}, 3, elected=True)]) == ["outside"]


def test_ids() -> None:
    first = IdGiven(of="b-a", number=1, check_code="x;1", ended=1)
    assert violated(ids=[first, first]) == []
    assert violated(ids=[first, IdGiven(of="b-a", number=1, check_code="y;1", ended=2)]) == ["id twice"]
    assert violated(ids=[first], next_ids=[NextId(of="b-a", number=2, began=2)]) == []
    assert violated(ids=[first], next_ids=[NextId(of="b-a", number=1, began=2)]) == ["lost"]
    assert violated(ids=[first], next_ids=[NextId(of="b-a", number=1, began=0.5)]) == []
    assert violated(ids=[first], unknown=[Unknown(of="b-a", number=1, began=2)]) == ["lost"]


def test_messages() -> None:
    assert violated(acknowledged={"b-a": ["m1", "m2"]}, kept={"b-a": {"m1", "m2", "m3"}}) == []
    assert violated(acknowledged={"b-a": ["m1", "m2"]}, kept={"b-a": {"m1"}}) == ["message"]
