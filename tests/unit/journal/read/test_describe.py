"""Records, holes and damage as text."""

import pytest

from routebook.events import Event
from routebook.journal.read.describe import describe_damage, describe_event, describe_hole
from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Hole
from routebook.journal.record import Record, UnknownEvent, kind_of
from tests.support.journal_events import EVERY_KIND

BY_KIND = {kind_of(event): event for event in EVERY_KIND}


def described(event: Event | UnknownEvent) -> str:
    return describe_event(Record(1, "n", "b", 1, 1, event))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("server_stopped", "reason=SIGTERM"),
        ("broker_down", "cluster=C broker=a broker_id=0 addr=10.0.0.1:10911 reason=expired"),
        ("topics_changed", "broker=a cause=registration added=[T] changed=[U] removed=[V]"),
        ("request_denied", "peer=10.0.0.8:5000 code=318 why='not over the wire'"),
    ],
)
def test_an_event(kind: str, text: str) -> None:
    assert set(described(BY_KIND[kind]).split()) == set(text.split())


def test_long_lists_are_shortened() -> None:
    assert described(UnknownEvent("new", {"names": ["a", "b", "c", "d", "e"]})) == "names=[a b c …+2]"


def test_a_hole() -> None:
    assert describe_hole(Hole(first=3, last=3, why="disk full")) == "record 3 missing: disk full"
    assert "states no reason" in describe_hole(Hole(first=3, last=4))
    assert describe_hole(Hole(first=3, last=4, why="crash", certain=False)) == (
        "records 3 to 4: unused, or lost in a crash (crash)"
    )


def test_damage() -> None:
    damage = Damage(file="f", line=3, offset=10, size=4, reason="bad", saved_as="g")
    assert describe_damage(damage) == "f, line 3 (byte 10, 4 bytes): bad; set aside as g"
    assert describe_damage(Damage(file="f", reason="bad")) == "f: bad"
