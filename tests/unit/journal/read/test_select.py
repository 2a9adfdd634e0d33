"""Filtering records by kind, topic and broker."""

from routebook.events import Event
from routebook.journal.read.select import Selection
from routebook.journal.record import Record, UnknownEvent
from tests.support.journal_events import EVERY_KIND


def kinds(selection: Selection, events: tuple[Event | UnknownEvent, ...] = EVERY_KIND) -> set[str]:
    records = [Record(1, "n", "b", 1, 1, event) for event in events]
    return {record.kind for record in records if selection.fits(record)}


def test_an_empty_selection_matches_everything() -> None:
    assert len(kinds(Selection())) == len({type(event) for event in EVERY_KIND})


def test_by_kind() -> None:
    assert kinds(Selection(kinds=frozenset({"broker_up", "kv_changed"}))) == {"broker_up", "kv_changed"}


def test_by_topic_in_any_field() -> None:
    assert kinds(Selection(topics=frozenset({"T"}))) == {
        "topics_changed",
        "mappings_changed",
        "lookup_minute",
        "topic_deleted",
        "peer_diverged",
    }
    assert kinds(Selection(topics=frozenset({"U"}))) == {"topics_changed"}
    assert kinds(Selection(topics=frozenset({"V"}))) == {"topics_changed"}
    assert kinds(Selection(topics=frozenset({"W"}))) == {"mappings_changed"}
    assert kinds(Selection(topics=frozenset({"X"}))) == set()


def test_by_broker_name_or_address() -> None:
    by_name = kinds(Selection(brokers=frozenset({"a"})))
    assert {"broker_up", "broker_down", "heartbeat_minute", "topics_changed", "topic_deleted"} <= by_name
    assert "kv_changed" not in by_name
    by_address = kinds(Selection(brokers=frozenset({"10.0.0.1:10911"})))
    members = {"broker_up", "broker_changed", "broker_returned", "broker_down"}
    replicas = {"broker_id_assigned", "replica_moved", "master_elected", "broker_set_state"}
    assert by_address == members | replicas | {"heartbeat_minute", "preservation_entered"}


def test_all_criteria_must_match() -> None:
    assert kinds(Selection(kinds=frozenset({"broker_up"}), topics=frozenset({"T"}))) == set()


def test_an_unknown_kind_is_matched_by_its_fields() -> None:
    event = UnknownEvent("new", {"topic": "T", "broker": 7})
    assert kinds(Selection(topics=frozenset({"T"})), (event,)) == {"new"}
    assert kinds(Selection(brokers=frozenset({"7"})), (event,)) == set()
