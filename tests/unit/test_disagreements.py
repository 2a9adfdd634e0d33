"""Differences between NameServers are combined, and name the likely stale one."""

import pytest

from routebook.disagreements import Disagreement, Kind, disagreements
from tests.support.views import bare, group, on, queues, view

A = on("b-a", "orders", "payments")
B = on("b-b", "orders")


def only(found: list[Disagreement]) -> Disagreement:
    assert len(found) == 1, found
    return found[0]


def test_equal_views_have_no_differences() -> None:
    assert disagreements([view("n1", [A, B]), view("n2", [B, A])]) == []


def test_fewer_than_two_views_have_no_differences() -> None:
    assert disagreements([]) == []
    assert disagreements([view("n1", [A])]) == []


def test_a_missing_broker_is_one_difference_with_its_topics() -> None:
    found = only(disagreements([view("n1", [A, B]), view("n2", [B])]))
    assert (found.kind, found.subject, found.topics) == (Kind.BROKER, "b-a", ["orders", "payments"])
    assert found.missing_at == ["n2"]
    assert found.values["n1"] == "0=b-a.example:10911"
    assert found.stale == []


@pytest.mark.parametrize(("answers", "stale"), [(True, ["n2"]), (False, ["n1"]), (None, [])])
def test_without_a_majority_reachability_decides(answers: bool | None, stale: list[str]) -> None:
    found = only(disagreements([view("n1", [A, B]), view("n2", [B])], reachable=lambda _: answers))
    assert found.stale == stale


def test_the_minority_is_stale() -> None:
    views = [view("n1", [A]), view("n2", [A, B]), view("n3", [A, B])]
    found = only(disagreements(views, reachable=lambda _: False))
    assert (found.stale, found.because) == (["n1"], "2 of 3 differ from it")
    found = only(disagreements([view("n1", [A]), view("n2", [A, B]), view("n3", [A])]))
    assert found.stale == ["n2"]


def test_topics_of_one_broker_are_combined() -> None:
    less = on("b-a", "orders")
    more = on("b-a", "orders", "payments", "refunds")
    found = only(disagreements([view("n1", [more]), view("n2", [less])]))
    assert (found.kind, found.subject, found.topics) == (Kind.TOPIC, "b-a", ["payments", "refunds"])
    assert found.missing_at == ["n2"]


def test_topics_that_differ_in_two_ways_are_separate_differences() -> None:
    here = (group("b-a"), {topic: queues("b-a") for topic in "stu"})
    there = (group("b-a"), {"s": queues("b-a", perm=4), "t": queues("b-a", perm=4), "u": queues("b-a", write=4)})
    permission, counts = sorted(disagreements([view("n1", [here]), view("n2", [there])]), key=lambda one: one.kind)
    assert (permission.kind, permission.topics) == (Kind.PERMISSION, ["s", "t"])
    assert permission.values == {"n1": "6", "n2": "4"}
    assert (counts.kind, counts.topics) == (Kind.QUEUES, ["u"])
    assert counts.values["n2"] == "8 to read, 4 to write"


def test_members_and_descriptions_of_a_group() -> None:
    here = bare(group("b-a", m0="h:1", m1="h:2"))
    there = bare(group("b-a", m0="h:9", cluster="c2", zone="z"))
    found = disagreements([view("n1", [here]), view("n2", [there])])
    assert [(one.kind, one.subject, one.values) for one in found] == [
        (Kind.MEMBER, "b-a id 0", {"n1": "h:1", "n2": "h:9"}),
        (Kind.MEMBER, "b-a id 1", {"n1": "h:2", "n2": None}),
        (Kind.GROUP, "b-a", {"n1": "cluster c1", "n2": "cluster c2, zone z"}),
    ]


def test_a_broker_that_is_missing_does_not_count_for_its_members() -> None:
    slave = bare(group("b-a", m0="h:1", m1="h:2"))
    alone = bare(group("b-a", m0="h:1"))
    found = disagreements([view("n1", [slave]), view("n2", [alone]), view("n3", [B])])
    assert [(one.kind, one.subject) for one in found] == [
        (Kind.BROKER, "b-a"),
        (Kind.MEMBER, "b-a id 1"),
        (Kind.BROKER, "b-b"),
    ]


def test_kv_and_order() -> None:
    here = view("n1", [A], kv={"ns": {"k": "1", "same": "x"}}, order={"orders": "b-a:4"})
    there = view("n2", [A], kv={"ns": {"k": "2", "same": "x", "more": "y"}})
    assert [(one.kind, one.subject, one.values) for one in disagreements([here, there])] == [
        (Kind.ORDER, "orders", {"n1": "b-a:4", "n2": None}),
        (Kind.KV, "ns/k", {"n1": "1", "n2": "2"}),
        (Kind.KV, "ns/more", {"n1": None, "n2": "y"}),
    ]


def test_settings_that_both_have_are_compared_except_for_paths() -> None:
    here = {"orderMessageEnable": "true", "listenPort": "1", "kvConfigPath": "/a", "mine": "x", "tls.keyPassword": "a"}
    there = {"orderMessageEnable": "false", "listenPort": "2", "kvConfigPath": "/b", "tls.keyPassword": "b"}
    views = [view("n1", [], settings=here), view("n2", [], settings=there), view("n3", [])]
    found = only(disagreements(views))
    assert (found.kind, found.subject, found.stale) == (Kind.SETTING, "orderMessageEnable", [])
    assert found.values == {"n1": "true", "n2": "false"}
