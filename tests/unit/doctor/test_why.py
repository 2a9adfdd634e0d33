"""Explanations from small journals: each cause, its broker and the evidence."""

from pathlib import Path

import pytest

from routebook.doctor.why import CauseKind, Downtime, Facts, Protection, State, Why, explain, without_senders
from routebook.events import (
    DownReason,
    Event,
    PermissionRestored,
    PermissionWiped,
    QueueChange,
    Queues,
    ServerStarted,
    TopicCause,
    TopicDeleted,
    TopicsChanged,
)
from routebook.history.query.offline import open_offline
from tests.support.small_journals import BORN, RW, STARTED, Journal, added, down, gone, up

AT_S = 20.0


def why(
    home: Path,
    *later: Event,
    topic: str = "T",
    at_s: float = AT_S,
    protection: Protection | None = None,
    **more: object,
) -> Why:
    """T on the brokers a and b at 0 s, then these events at 10 s; explained at 20 s."""
    journal = Journal(home)
    journal.write(0, STARTED, up("a", "h:1"), added("T"), up("b", "h:2"), added("T", broker="b"))
    if later:
        journal.write(10, *later)
    journal.write(30, PermissionRestored(broker="x", topics=0))
    with open_offline(home) as history:
        at_ms = BORN + int(at_s * 1000)
        past = history.route_at(topic, at_ms)
        versions = history.timeline(topic, before_ms=at_ms).versions
    return explain(
        Facts(
            topic=topic,
            at_ms=at_ms,
            route=past.route,
            versions=versions,
            certainty=past.certainty,
            protection=protection,
            **more,  # type: ignore[arg-type]
        )
    )


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (DownReason.CLOSED, CauseKind.CLOSED),
        (DownReason.IDLE, CauseKind.CRASH_OR_NETWORK),
        (DownReason.EXPIRED, CauseKind.EXPIRED),
        (DownReason.UNREGISTERED, CauseKind.CLEAN_STOP),
        (DownReason.DEREGISTERED, CauseKind.CLEAN_STOP),
        (DownReason.REPLACED, CauseKind.CLEAN_STOP),
    ],
)
def test_the_last_broker_that_left_is_the_cause(tmp_path: Path, reason: DownReason, kind: CauseKind) -> None:
    journal = Journal(tmp_path)
    journal.write(0, STARTED, up("a", "h:1"), added("T"), up("b", "h:2"), added("T", broker="b"))
    journal.write(5, down("a", "h:1", DownReason.UNREGISTERED), gone("T"))
    journal.write(9, down("b", "h:2", reason), gone("T", broker="b"))
    with open_offline(tmp_path) as history:
        past = history.route_at("T", BORN + 9000)
        versions = history.timeline("T", before_ms=BORN + 9000).versions
    answer = explain(Facts(topic="T", at_ms=BORN + 9000, route=past.route, versions=versions, certainty=past.certainty))
    assert (answer.has_route, answer.state) == (False, State.NONE)
    assert answer.cause is not None
    assert (answer.cause.kind, answer.cause.broker, answer.cause.at_ms) == (kind, "b", BORN + 9000)
    assert answer.valid_from_ms == BORN + 9000
    assert any("a removed" in fact.text for fact in answer.evidence)


def test_a_deleted_topic_names_the_sender(tmp_path: Path) -> None:
    answer = why(tmp_path, TopicDeleted(topic="T", brokers=("a", "b"), peer="10.0.0.8:5", who="ops"))
    assert answer.cause is not None
    assert (answer.cause.kind, answer.cause.broker, answer.cause.peer) == (CauseKind.DELETED, None, "10.0.0.8:5")
    assert "10.0.0.8:5 (ops)" in answer.summary


def test_a_topic_that_a_broker_no_longer_announces_is_deleted(tmp_path: Path) -> None:
    left = TopicsChanged(broker="b", cause=TopicCause.REGISTRATION, removed=("T",))
    answer = why(tmp_path, down("a", "h:1"), gone("T"), left)
    assert answer.cause is not None
    assert answer.cause.kind in (CauseKind.DELETED, CauseKind.EXPIRED)  # one request: its first event
    assert not answer.has_route


def test_an_unknown_topic(tmp_path: Path) -> None:
    answer = why(tmp_path, topic="X")
    assert answer.cause is not None
    assert (answer.cause.kind, answer.has_route) == (CauseKind.NEVER_EXISTED, False)
    assert "Check the spelling" in answer.advice
    answer = why(tmp_path / "other", topic="%RETRY%group")
    assert answer.advice.startswith("Expected")


def test_a_time_before_the_records_is_unknown(tmp_path: Path) -> None:
    answer = why(tmp_path, at_s=-5)
    assert (answer.state, answer.cause, answer.has_route) == (State.UNKNOWN, None, False)


def test_a_complete_route_has_no_cause(tmp_path: Path) -> None:
    answer = why(tmp_path)
    assert (answer.state, answer.cause, answer.has_route) == (State.AVAILABLE, None, True)
    assert answer.brokers == ["a", "b"]


def test_a_broker_that_left_reduces_the_route(tmp_path: Path) -> None:
    answer = why(tmp_path, down("a", "h:1", DownReason.CLOSED), gone("T"))
    assert answer.cause is not None
    assert (answer.state, answer.has_route) == (State.REDUCED, True)
    assert (answer.cause.kind, answer.cause.broker) == (CauseKind.CLOSED, "a")


def test_wiped_brokers(tmp_path: Path) -> None:
    answer = why(tmp_path, PermissionWiped(broker="a", topics=1, peer="10.0.0.8:5"))
    assert answer.cause is not None
    assert (answer.state, answer.cause.kind, answer.cause.broker) == (State.REDUCED, CauseKind.WIPED, "a")
    both = [PermissionWiped(broker=name, topics=1, peer="10.0.0.8:5") for name in "ab"]
    answer = why(tmp_path / "both", *both)
    assert answer.cause is not None
    assert (answer.state, answer.cause.kind, answer.has_route) == (State.READ_ONLY, CauseKind.WIPED, True)
    assert answer.advice == "routebook broker restore a"


def test_a_permission_that_the_broker_configured(tmp_path: Path) -> None:
    change = TopicsChanged(
        broker="a", cause=TopicCause.REGISTRATION, changed={"T": QueueChange(RW, Queues(4, 8, 8, 0))}
    )
    answer = why(tmp_path, change)
    assert answer.cause is not None
    assert (answer.cause.kind, answer.cause.broker) == (CauseKind.CONFIGURED, "a")


def test_protected_brokers(tmp_path: Path) -> None:
    answer = why(tmp_path, protection=Protection(since_ms=BORN, silent=frozenset({"h:2"})))
    assert answer.cause is not None
    assert (answer.cause.kind, answer.cause.broker, answer.has_route) == (CauseKind.PROTECTED, "b", True)


def test_downtime_of_the_nameserver_comes_first(tmp_path: Path) -> None:
    answer = why(tmp_path, downtime=Downtime(from_ms=BORN + 15_000, to_ms=BORN + 25_000, clean=False))
    assert answer.cause is not None
    assert (answer.cause.kind, answer.has_route, answer.state) == (CauseKind.NAMESERVER_DOWN, False, State.NONE)
    assert "brokers of the route before: a, b" in [fact.text for fact in answer.evidence]


def test_a_cold_start_is_downtime(tmp_path: Path) -> None:
    answer = why(tmp_path, ServerStarted(version="1", listen="127.0.0.1:9876", cold=True))
    assert answer.cause is not None
    assert (answer.cause.kind, answer.cause.broker) == (CauseKind.NAMESERVER_DOWN, None)


def test_other_departures_point_to_the_network(tmp_path: Path) -> None:
    left: list[Event] = [
        down("a", "h:1", DownReason.CLOSED),
        gone("T"),
        down("b", "h:2", DownReason.CLOSED),
        gone("T", broker="b"),
    ]
    answer = why(tmp_path, *left, left_nearby=("c", "d"))
    assert answer.evidence[0].text.startswith("2 other brokers left unplanned within 30 s: c, d")
    answer = why(tmp_path / "alone", *left)
    assert "the broker itself" in answer.evidence[0].text


def test_senders_can_be_left_out(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write(0, STARTED, up("a", "h:1"), added("T"))
    journal.write(5, TopicDeleted(topic="T", brokers=("a",), peer="10.0.0.8:5", who="ops"))
    with open_offline(tmp_path) as history:
        past, versions = history.route_at("T", BORN + 5000), history.timeline("T", before_ms=BORN + 5000).versions
    facts = Facts(topic="T", at_ms=BORN + 5000, route=past.route, versions=versions, certainty=past.certainty)
    answer = explain(without_senders(facts))
    assert answer.cause is not None
    assert (answer.cause.kind, answer.cause.peer, answer.cause.who) == (CauseKind.DELETED, None, None)
    assert "10.0.0.8" not in answer.summary
