"""History queries over real journal folders: causes, holes, down time, clock jumps."""

from pathlib import Path

import pytest

from routebook.errors import HistoryError
from routebook.events import HeartbeatMinute, JournalHole, PermissionWiped, ServerStarted, ServerStopped, TopicDeleted
from routebook.history.query.history import History
from routebook.history.query.offline import open_offline
from tests.support.small_journals import BORN, STARTED, IndexRun, Journal, added, broker_names, down, gone, route_at, up


def test_a_past_route_has_its_validity_and_cause(journal: Journal) -> None:
    journal.write(0, STARTED)
    journal.write(1, up(), added("T", "U"))
    journal.write(5, down(), gone("T", "U"))
    past = route_at(journal, "T", 3)
    assert broker_names(past) == ["a"]
    assert (past.valid_from_ms, past.valid_to_ms) == (BORN + 1000, BORN + 5000)
    assert past.cause is not None
    assert (past.cause.kind, past.cause.seq) == ("broker_up", 2)
    assert past.certainty.known
    assert past.certainty.observed
    assert not past.certainty.events_may_be_missing
    after = route_at(journal, "T", 5)
    assert after.route is None
    assert (after.valid_from_ms, after.valid_to_ms) == (BORN + 5000, None)
    assert after.cause is not None
    assert (after.cause.kind, after.cause.why) == ("broker_down", "expired")


def test_the_topics_at_a_time_in_pages(journal: Journal) -> None:
    journal.write(0, STARTED)
    journal.write(1, up(), up("b", "h:2"), added("T", "U", "V"), added("U", broker="b"))
    journal.write(5, TopicDeleted(topic="T", brokers=("a",), peer="10.0.0.9:1", code=216))
    with open_offline(journal.home) as history:
        before = history.topics_at(BORN + 3000)
        assert [(one.name, one.brokers) for one in before.topics] == [("T", 1), ("U", 2), ("V", 1)]
        assert before.next is None
        assert before.topics[1].read_queues == 2 * before.topics[0].read_queues > 0
        assert [one.name for one in history.topics_at(BORN + 5000).topics] == ["U", "V"]
        assert [one.name for one in history.topics_at(BORN + 5000, part="u").topics] == ["U"]
        assert history.topics_at(BORN).topics == []
        first = history.topics_at(BORN + 3000, limit=2)
        assert ([one.name for one in first.topics], first.next) == (["T", "U"], "U")
        assert [one.name for one in history.topics_at(BORN + 3000, after="U", limit=2).topics] == ["V"]


def test_the_cause_names_the_requesting_client(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(1, PermissionWiped(broker="a", topics=1, peer="10.0.0.8:1", who="ann", code=205))
    journal.write(2, TopicDeleted(topic="T", brokers=("a",), peer="10.0.0.9:1", code=216))
    wiped, deleted = route_at(journal, "T", 1).cause, route_at(journal, "T", 2).cause
    assert wiped is not None
    assert (wiped.kind, wiped.peer, wiped.who) == ("permission_wiped", "10.0.0.8:1", "ann")
    assert deleted is not None
    assert (deleted.kind, deleted.peer, deleted.who) == ("topic_deleted", "10.0.0.9:1", None)


def test_an_unknown_topic_has_no_route(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    past = route_at(journal, "X", 1)
    assert (past.route, past.valid_from_ms, past.valid_to_ms, past.cause) == (None, None, None, None)
    assert past.certainty.known


def test_times_before_the_first_record_are_unknown(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    past = route_at(journal, "T", -1)
    assert past.route is None
    assert not past.certainty.known
    assert not past.certainty.observed
    assert past.valid_to_ms == BORN
    assert past.certainty.extent is not None
    assert past.certainty.extent.from_ms == BORN


def test_times_without_a_running_nameserver_are_not_observed(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(10, ServerStopped(reason="SIGTERM"))
    journal.boot = "b2"
    journal.write(60, STARTED)
    journal.write(70, HeartbeatMinute(cluster="C", broker="a", addr="h:1", minute_ms=0, count=1))
    assert [route_at(journal, "T", at).certainty.observed for at in (0, 10, 11, 59, 60, 70, 71)] == [
        True,
        True,
        False,
        False,
        True,
        True,
        False,  # there is no server that would know
    ]
    assert broker_names(route_at(journal, "T", 30)) == ["a"]
    assert broker_names(route_at(journal, "T", 65)) == ["a"]  # a warm start: it was served as before


def test_after_a_crash_the_last_record_ends_the_observed_time(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.boot = "b2"
    journal.write(60, STARTED)
    assert not route_at(journal, "T", 30).certainty.observed


def test_a_cold_start_removes_all_routes(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T", *(f"T{n}" for n in range(20))))
    journal.boot = "b2"
    journal.write(60, ServerStarted(version="1", listen="x", cold=True))
    past = route_at(journal, "T", 61)
    assert past.route is None
    assert past.cause is not None
    assert (past.cause.kind, past.cause.why) == ("server_started", "cold")
    with open_offline(journal.home) as history:
        assert history.brokers_at(BORN + 61_000).brokers == []


def test_a_hole_is_reported_for_later_times(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.seq += 5
    journal.write(10, JournalHole(first_missing=4, last_missing=8, count=5, why="disk full"))
    before, after = route_at(journal, "T", 5).certainty, route_at(journal, "T", 11).certainty
    assert not before.events_may_be_missing
    assert after.events_may_be_missing
    assert [(hole.first_seq, hole.last_seq, hole.why) for hole in after.missing] == [(4, 8, "disk full")]


def test_numbers_skipped_after_a_crash_are_not_missing(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.seq += 5
    hole = JournalHole(first_missing=4, last_missing=8, count=5, why="numbers skipped after a crash", certain=False)
    journal.write(10, hole)
    assert not route_at(journal, "T", 11).certainty.events_may_be_missing


def test_inconsistent_events_after_a_hole_are_applied(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.seq += 1
    journal.write(1, down("z", "z:1"), up("a", "other:1"), gone("x", broker="z"))
    past = route_at(journal, "T", 2)
    assert past.route is not None
    assert past.route.broker_datas[0].broker_addrs == {0: "other:1"}
    assert past.certainty.events_may_be_missing


def test_events_are_ordered_by_number_although_the_clock_goes_back(journal: Journal) -> None:
    journal.write(3600, STARTED, up(), added("T"))
    journal.write(0, down(), gone("T"))  # an hour earlier by the clock, but a later record
    journal.write(3601, up("b", "i:1"), added("T", broker="b"))
    assert broker_names(route_at(journal, "T", 1800)) is None  # before the first record
    assert broker_names(route_at(journal, "T", 3600)) is None
    assert broker_names(route_at(journal, "T", 3601)) == ["b"]
    with open_offline(journal.home) as history:
        versions = history.timeline("T").versions
    assert [version.brokers for version in versions] == [["b"], [], ["a"]]
    assert [version.cause.at_ms - BORN for version in versions] == [3_601_000, 0, 3_600_000]


def test_a_topic_timeline_lists_its_changes(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(1, up("b", "i:1"), added("T", broker="b"))
    journal.write(2, PermissionWiped(broker="b", topics=1))
    journal.write(3, up("b", "j:1", 1))
    journal.write(4, down(), gone("T"))
    with open_offline(journal.home) as history:
        timeline = history.timeline("T")
        two = history.timeline("T", limit=2)
        until = history.timeline("T", before_ms=BORN + 2500)
    changes = [[(step.broker, step.change) for step in version.steps] for version in timeline.versions]
    assert changes == [[("a", "removed")], [("b", "members")], [("b", "perm")], [("b", "added")], [("a", "added")]]
    assert [version.write_queues for version in timeline.versions] == [0, 8, 8, 16, 8]
    assert timeline.versions[0].valid_to_ms is None
    assert timeline.versions[1].valid_to_ms == BORN + 4000
    assert (two.versions, two.more) == (timeline.versions[:2], True)
    assert until.versions == timeline.versions[2:]


def test_a_broker_timeline_lists_its_changes(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(1, up(broker_id=1, addr="i:1", zone="z"))
    journal.write(2, down(addr="h:1"))
    with open_offline(journal.home) as history:
        found = history.broker_timeline("a")
        assert history.broker_timeline("unknown").versions == []
    assert [version.addrs for version in found.versions] == [{1: "i:1"}, {0: "h:1", 1: "i:1"}, {0: "h:1"}]
    assert [version.zone for version in found.versions] == ["z", "z", None]
    assert [version.cause.kind for version in found.versions] == ["broker_down", "broker_up", "broker_up"]


def test_names_with_lone_surrogates(journal: Journal) -> None:
    odd = "half\ud800"
    journal.write(0, STARTED, up(odd, zone=odd), added(odd, broker=odd))
    past = route_at(journal, odd, 1)
    assert broker_names(past) == [odd]
    assert past.route is not None
    assert past.route.broker_datas[0].zone_name == odd


def test_a_missing_index_raises_history_error(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="cannot be read"):
        History(tmp_path / "history.db").route_at("T", 0)


def test_a_time_that_the_index_has_not_reached_is_an_error(journal: Journal) -> None:
    """While the index catches up, the last indexed state is not the state at a later time."""
    journal.write(0, STARTED, up(), added("T"))
    index = IndexRun(journal)
    index.catch_up()
    assert index.route_at("T", 5).route is not None
    building = History(index.path, is_catching_up=lambda: True)
    assert building.route_at("T", BORN).route is not None
    for query in (
        lambda: building.route_at("T", BORN + 5000),
        lambda: building.brokers_at(BORN + 5000),
        lambda: building.timeline("T", before_ms=BORN + 5000),
    ):
        with pytest.raises(HistoryError, match="has reached"):
            query()
    building.close()
