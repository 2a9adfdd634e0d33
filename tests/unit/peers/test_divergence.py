"""Divergence: short differences are ignored, lasting ones are reported once with their end."""

from routebook.disagreements import Disagreement, Kind
from routebook.events import PeerAgreed, PeerDiverged
from routebook.peers.divergence import Difference, Divergence, differences_of


def broker(name: str) -> Disagreement:
    return Disagreement(kind=Kind.BROKER, subject=name, values={"here": "0=h:1", "p": None}, topics=["T", "U"])


def topics(name: str, *names: str) -> Disagreement:
    return Disagreement(kind=Kind.TOPIC, subject=name, values={"here": "there", "p": None}, topics=list(names))


def test_a_broker_is_one_difference_and_each_topic_one() -> None:
    found = [broker("a"), topics("b", "T", "U"), Disagreement(kind=Kind.MEMBER, subject="c id 1", values={})]
    differences = differences_of(found)
    assert differences == [
        Difference(Kind.BROKER, "a"),
        Difference(Kind.TOPIC, "b", "T"),
        Difference(Kind.TOPIC, "b", "U"),
        Difference(Kind.MEMBER, "c id 1"),
    ]
    assert [difference.broker for difference in differences] == ["a", "b", "b", "c"]


def test_a_short_difference_is_not_reported() -> None:
    divergence = Divergence("p", lasting_ms=100)
    assert divergence.update([broker("a")], 0) == []
    assert divergence.update([], 60) == []
    assert divergence.update([broker("a")], 120) == []  # a new difference
    assert divergence.since == {Difference(Kind.BROKER, "a"): 120}


def test_a_lasting_difference_is_reported_once_and_so_is_its_end() -> None:
    divergence = Divergence("p", lasting_ms=100)
    divergence.update([broker("a"), topics("b", "T")], 10)
    assert divergence.update([broker("a"), topics("b", "T"), topics("c", "X")], 110) == [
        PeerDiverged(peer="p", since_ms=10, differences=2, topics=("T",), brokers=("a", "b"))
    ]
    assert divergence.update([broker("a")], 200) == []
    assert divergence.diverged_since_ms == 10
    assert divergence.update([topics("d", "Y")], 300) == [PeerAgreed(peer="p", diverged_ms=290)]
    assert divergence.update([topics("d", "Y")], 350) == []
    assert divergence.topics == ["Y"]


def test_a_topic_that_was_not_compared_keeps_its_difference() -> None:
    divergence = Divergence("p", lasting_ms=100)
    divergence.update([topics("b", "T", "U")], 0)
    divergence.update([], 50, was_compared={"U"}.__contains__)
    assert divergence.since == {Difference(Kind.TOPIC, "b", "T"): 0}
    assert divergence.update([], 100, was_compared=set[str]().__contains__) == [
        PeerDiverged(peer="p", since_ms=0, differences=1, topics=("T",), brokers=("b",))
    ]
