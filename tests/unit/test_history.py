"""History over real journal folders: what it answers about causes, holes, down time, retention and damaged files."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from routebook.errors import HistoryError
from routebook.events import (
    HeartbeatMinute,
    JournalHole,
    PermissionWiped,
    ServerStarted,
    ServerStopped,
    TopicDeleted,
)
from routebook.history.index.feeder import Feeder
from routebook.history.query.answers import PastRoute
from routebook.history.query.history import History
from routebook.history.query.offline import open_offline
from tests.support.small_journals import BORN, STARTED, Journal, added, down, gone, up


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def asked(journal: Journal, topic: str, at_s: float) -> PastRoute:
    with open_offline(journal.home) as history:
        return history.route_at(topic, BORN + int(at_s * 1000))


def brokers(past: PastRoute) -> list[str] | None:
    return None if past.route is None else [data.broker_name for data in past.route.broker_datas]


# -- answers ---------------------------------------------------------------------------------------------------------


def test_a_route_says_since_when_until_when_and_why(journal: Journal) -> None:
    journal.write(0, STARTED)
    journal.write(1, up(), added("T", "U"))
    journal.write(5, down(), gone("T", "U"))
    past = asked(journal, "T", 3)
    assert brokers(past) == ["a"]
    assert (past.valid_from_ms, past.valid_to_ms) == (BORN + 1000, BORN + 5000)
    assert past.cause is not None
    assert (past.cause.kind, past.cause.seq) == ("broker_up", 2)
    assert past.certainty.known
    assert past.certainty.observed
    assert not past.certainty.events_may_be_missing
    after = asked(journal, "T", 5)
    assert after.route is None
    assert (after.valid_from_ms, after.valid_to_ms) == (BORN + 5000, None)
    assert after.cause is not None
    assert (after.cause.kind, after.cause.why) == ("broker_down", "expired")


def test_who_asked_for_it_is_told(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(1, PermissionWiped(broker="a", topics=1, peer="10.0.0.8:1", who="ann", code=205))
    journal.write(2, TopicDeleted(topic="T", brokers=("a",), peer="10.0.0.9:1", code=216))
    wiped, deleted = asked(journal, "T", 1).cause, asked(journal, "T", 2).cause
    assert wiped is not None
    assert (wiped.kind, wiped.peer, wiped.who) == ("permission_wiped", "10.0.0.8:1", "ann")
    assert deleted is not None
    assert (deleted.kind, deleted.peer, deleted.who) == ("topic_deleted", "10.0.0.9:1", None)


def test_a_topic_that_never_was(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    past = asked(journal, "X", 1)
    assert (past.route, past.valid_from_ms, past.valid_to_ms, past.cause) == (None, None, None, None)
    assert past.certainty.known


def test_before_the_first_record_nothing_is_known(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    past = asked(journal, "T", -1)
    assert past.route is None
    assert not past.certainty.known
    assert not past.certainty.observed
    assert past.valid_to_ms == BORN
    assert past.certainty.extent is not None
    assert past.certainty.extent.from_ms == BORN


def test_time_without_the_nameserver_is_not_observed(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(10, ServerStopped(reason="SIGTERM"))
    journal.boot = "b2"
    journal.write(60, STARTED)
    journal.write(70, HeartbeatMinute(cluster="C", broker="a", addr="h:1", minute_ms=0, count=1))
    assert [asked(journal, "T", at).certainty.observed for at in (0, 10, 11, 59, 60, 70, 71)] == [
        True,
        True,
        False,
        False,
        True,
        True,
        False,  # there is no server that would know
    ]
    assert brokers(asked(journal, "T", 30)) == ["a"]
    assert brokers(asked(journal, "T", 65)) == ["a"]  # a warm start: it was served as before


def test_after_a_crash_the_last_record_is_the_last_sign_of_life(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.boot = "b2"
    journal.write(60, STARTED)
    assert not asked(journal, "T", 30).certainty.observed


def test_a_cold_start_begins_empty(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T", *(f"T{n}" for n in range(20))))
    journal.boot = "b2"
    journal.write(60, ServerStarted(version="1", listen="x", cold=True))
    past = asked(journal, "T", 61)
    assert past.route is None
    assert past.cause is not None
    assert (past.cause.kind, past.cause.why) == ("server_started", "cold")
    with open_offline(journal.home) as history:
        assert history.brokers_at(BORN + 61_000).brokers == []


def test_a_hole_is_told_from_then_on(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.seq += 5
    journal.write(10, JournalHole(first_missing=4, last_missing=8, count=5, why="disk full"))
    before, after = asked(journal, "T", 5).certainty, asked(journal, "T", 11).certainty
    assert not before.events_may_be_missing
    assert after.events_may_be_missing
    assert [(hole.first_seq, hole.last_seq, hole.why) for hole in after.missing] == [(4, 8, "disk full")]


def test_numbers_that_a_crash_skipped_are_no_loss(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.seq += 5
    hole = JournalHole(first_missing=4, last_missing=8, count=5, why="numbers skipped after a crash", certain=False)
    journal.write(10, hole)
    assert not asked(journal, "T", 11).certainty.events_may_be_missing


def test_events_that_do_not_fit_after_a_hole_are_taken_as_they_are(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.seq += 1
    journal.write(1, down("z", "z:1"), up("a", "other:1"), gone("x", broker="z"))
    past = asked(journal, "T", 2)
    assert past.route is not None
    assert past.route.broker_datas[0].broker_addrs == {0: "other:1"}
    assert past.certainty.events_may_be_missing


def test_a_clock_that_jumps_back_keeps_the_order_of_the_numbers(journal: Journal) -> None:
    journal.write(3600, STARTED, up(), added("T"))
    journal.write(0, down(), gone("T"))  # an hour earlier by the clock, but later
    journal.write(3601, up("b", "i:1"), added("T", broker="b"))
    assert brokers(asked(journal, "T", 1800)) is None  # before anything known
    assert brokers(asked(journal, "T", 3600)) is None
    assert brokers(asked(journal, "T", 3601)) == ["b"]
    with open_offline(journal.home) as history:
        versions = history.timeline("T").versions
    assert [version.brokers for version in versions] == [["b"], [], ["a"]]
    assert [version.cause.at_ms - BORN for version in versions] == [3_601_000, 0, 3_600_000]


def test_a_timeline_says_what_changed(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(1, up("b", "i:1"), added("T", broker="b"))
    journal.write(2, PermissionWiped(broker="b", topics=1))
    journal.write(3, up("b", "j:1", 1))
    journal.write(4, down(), gone("T"))
    with open_offline(journal.home) as history:
        timeline = history.timeline("T")
        two = history.timeline("T", limit=2)
        until = history.timeline("T", before_ms=BORN + 2500)
    told = [[(step.broker, step.change) for step in version.steps] for version in timeline.versions]
    assert told == [[("a", "removed")], [("b", "members")], [("b", "perm")], [("b", "added")], [("a", "added")]]
    assert [version.write_queues for version in timeline.versions] == [0, 8, 8, 16, 8]
    assert timeline.versions[0].valid_to_ms is None
    assert timeline.versions[1].valid_to_ms == BORN + 4000
    assert (two.versions, two.more) == (timeline.versions[:2], True)
    assert until.versions == timeline.versions[2:]


def test_a_broker_has_a_timeline_of_its_own(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(1, up(broker_id=1, addr="i:1", zone="z"))
    journal.write(2, down(addr="h:1"))
    with open_offline(journal.home) as history:
        found = history.broker_timeline("a")
        assert history.broker_timeline("nobody").versions == []
    assert [version.addrs for version in found.versions] == [{1: "i:1"}, {0: "h:1", 1: "i:1"}, {0: "h:1"}]
    assert [version.zone for version in found.versions] == ["z", "z", None]
    assert [version.cause.kind for version in found.versions] == ["broker_down", "broker_up", "broker_up"]


def test_names_that_have_no_utf8(journal: Journal) -> None:
    odd = "half\ud800"
    journal.write(0, STARTED, up(odd, zone=odd), added(odd, broker=odd))
    past = asked(journal, odd, 1)
    assert brokers(past) == [odd]
    assert past.route is not None
    assert past.route.broker_datas[0].zone_name == odd


# -- the file --------------------------------------------------------------------------------------------------------


@pytest.fixture
def feeding(journal: Journal) -> Iterator["Feeding"]:
    feeding = Feeding(journal)
    yield feeding
    feeding.stop()


class Feeding:
    """A feeder that can be stopped and started again; `settle` returns when it has read all there is."""

    def __init__(self, journal: Journal) -> None:
        self.path = journal.home / "history.db"
        self.journal = journal
        self.told: list[str] = []
        self.feeder: Feeder | None = None

    def settle(self) -> Feeder:
        """Stopping reads the journal to its end."""
        self.stop()
        self.feeder = Feeder(self.path, self.journal.files, rest=0, told=self.told.append)
        self.feeder.start()
        self.feeder.stop()
        return self.feeder

    def stop(self) -> None:
        if self.feeder is not None:
            self.feeder.stop()

    def asked(self, topic: str, at_s: float) -> PastRoute:
        history = History(self.path)
        try:
            return history.route_at(topic, BORN + int(at_s * 1000))
        finally:
            history.close()


def test_it_goes_on_where_it_was(feeding: Feeding, journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    assert feeding.settle().status().records == 3
    journal.write(1, down(), gone("T"))
    status = feeding.settle().status()
    assert (status.records, status.last_seq, status.state, status.set_aside) == (2, 5, "stopped", None)
    assert brokers(feeding.asked("T", 0)) == ["a"]
    assert brokers(feeding.asked("T", 1)) is None
    assert feeding.told == []


def test_it_follows_a_growing_journal(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    feeder = Feeder(journal.home / "history.db", journal.files)
    feeder.start()
    try:
        journal.write(1, down(), gone("T"))
        for _ in range(400):
            if feeder.status().last_seq == 5:
                break
            feeder.wake()
            threading.Event().wait(0.025)
        assert feeder.status().last_seq == 5
    finally:
        feeder.stop()


@pytest.mark.parametrize("content", [b"this is no database" * 100, b""])
def test_a_file_that_is_none_is_made_again(feeding: Feeding, journal: Journal, content: bytes) -> None:
    journal.write(0, STARTED, up(), added("T"))
    feeding.path.write_bytes(content)
    feeding.settle()
    assert brokers(feeding.asked("T", 0)) == ["a"]
    assert len(feeding.told) == (1 if content else 0)
    if content:
        assert feeding.path.with_name("history.db.set-aside").read_bytes() == content


@pytest.mark.parametrize(
    "change", ["PRAGMA user_version = 99", "PRAGMA application_id = 1", "UPDATE meta SET value = 'x' WHERE key = 'ns'"]
)
def test_a_foreign_file_is_made_again(feeding: Feeding, journal: Journal, change: str) -> None:
    journal.write(0, STARTED, up(), added("T"))
    feeding.settle()
    db = sqlite3.connect(feeding.path, isolation_level=None)
    db.execute(change)
    db.close()
    status = feeding.settle().status()
    assert status.set_aside is not None
    assert len(feeding.told) == 1
    assert brokers(feeding.asked("T", 0)) == ["a"]


def test_a_damaged_file_is_made_again(feeding: Feeding, journal: Journal) -> None:
    journal.write(0, STARTED, up(), added(*(f"T{n}" for n in range(300))))
    feeding.settle()
    journal.write(1, *(added(f"U{n}") for n in range(300)))
    with feeding.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (feeding.path.stat().st_size - 4096))
    feeding.settle()
    assert "set aside" in feeding.told[-1]
    assert brokers(feeding.asked("T7", 0)) == ["a"]
    assert brokers(feeding.asked("U7", 1)) == ["a"]


def test_a_journal_that_lost_its_end_makes_it_again(feeding: Feeding, journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(1, down(), gone("T"))
    feeding.settle()
    newest = journal.files.names()[-1]
    journal.files.remove(newest)
    journal.seq = 100
    journal.write(2, added("U"))
    feeding.settle()
    assert "record 5" in feeding.told[0]
    assert brokers(feeding.asked("T", 2)) == ["a"]


def test_what_retention_removed_is_forgotten_but_for_what_still_held(feeding: Feeding, journal: Journal) -> None:
    many = [f"T{n}" for n in range(40)]
    journal.write(0, STARTED, up(), added("T", *many), up("b", "i:1"), added(*many, broker="b"))
    journal.write(1, down("b", "i:1"), gone(*many, broker="b"))
    journal.write(2, TopicDeleted(topic="T", brokers=("a",)))
    kept = journal.write(10, up("c", "j:1"), added("T", broker="c")) - 1
    journal.write(11, STARTED)
    feeding.settle()
    before = [feeding.asked(topic, at).route for topic in ("T", "T7") for at in (10, 11)]
    for name in journal.files.names():
        if int(name[:20]) < kept:
            journal.files.remove(name)
    feeding.settle()
    assert [feeding.asked(topic, at).route for topic in ("T", "T7") for at in (10, 11)] == before
    past = feeding.asked("T7", 10)
    assert past.valid_from_ms is None
    assert past.certainty.known
    assert not past.certainty.events_may_be_missing
    assert not feeding.asked("T7", 5).certainty.known
    db = sqlite3.connect(feeding.path)
    assert db.execute("SELECT min(seq) FROM marks").fetchone()[0] == kept
    assert db.execute("SELECT count(*) FROM pieces").fetchone()[0] == 1
    db.close()


def test_an_index_of_a_journal_without_its_beginning_says_so(feeding: Feeding, journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(1, added("U"))
    journal.files.remove(journal.files.names()[0])
    feeding.settle()
    certainty = feeding.asked("U", 1).certainty
    assert certainty.events_may_be_missing
    assert certainty.missing == []


def test_a_folder_that_cannot_be_written_is_a_state_and_no_end(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    told: list[str] = []
    feeder = Feeder(journal.home / "missing" / "history.db", journal.files, rest=0, told=told.append)
    feeder.start()
    while feeder.status().state != "failing":
        threading.Event().wait(0.01)
    assert feeder.status().problem is not None
    feeder.stop()
    assert len(told) == 1
    assert "trying again" in told[0]


def test_a_server_that_has_just_begun_knows_nothing(feeding: Feeding) -> None:
    feeding.settle()
    past = feeding.asked("T", 0)
    assert (past.route, past.certainty.known, past.certainty.extent) == (None, False, None)


def test_there_is_no_index_yet(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="just now"):
        History(tmp_path / "history.db").route_at("T", 0)


# -- without a server ------------------------------------------------------------------------------------------------


def test_offline_leaves_the_home_as_it_is(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    before = sorted(path.name for path in journal.home.rglob("*"))
    assert brokers(asked(journal, "T", 1)) == ["a"]
    assert sorted(path.name for path in journal.home.rglob("*")) == before


def test_offline_catches_up_from_an_index_that_is_behind(feeding: Feeding, journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    feeding.settle()
    journal.files.remove(journal.files.names()[0])  # only the index knows of it
    journal.write(1, added("U"))
    before = feeding.path.read_bytes()
    assert brokers(asked(journal, "T", 1)) == ["a"]
    assert brokers(asked(journal, "U", 1)) == ["a"]
    assert feeding.path.read_bytes() == before


def test_offline_without_a_journal(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="no records"), open_offline(tmp_path):
        pass
