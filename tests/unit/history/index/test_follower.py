"""The index follower: continues, rebuilds damaged or foreign files, prunes, and retries after failures."""

import sqlite3
import threading

import pytest

from routebook.events import TopicDeleted
from routebook.history.index.follower import IndexFollower
from tests.support.small_journals import STARTED, IndexRun, Journal, added, broker_names, down, gone, up


def test_a_follower_continues_where_the_last_one_stopped(index: IndexRun, journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    assert index.catch_up().status().records == 3
    journal.write(1, down(), gone("T"))
    status = index.catch_up().status()
    assert (status.records, status.last_seq, status.state, status.set_aside) == (2, 5, "stopped", None)
    assert broker_names(index.route_at("T", 0)) == ["a"]
    assert broker_names(index.route_at("T", 1)) is None
    assert index.logged == []


def test_a_follower_indexes_new_records(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    follower = IndexFollower(journal.home / "history.db", journal.files)
    follower.start()
    try:
        journal.write(1, down(), gone("T"))
        for _ in range(400):
            if follower.status().last_seq == 5:
                break
            follower.wake()
            threading.Event().wait(0.025)
        assert follower.status().last_seq == 5
    finally:
        follower.stop()


@pytest.mark.parametrize("content", [b"not a database " * 100, b""])
def test_a_file_that_is_not_a_database_is_rebuilt(index: IndexRun, journal: Journal, content: bytes) -> None:
    journal.write(0, STARTED, up(), added("T"))
    index.path.write_bytes(content)
    index.catch_up()
    assert broker_names(index.route_at("T", 0)) == ["a"]
    assert len(index.logged) == (1 if content else 0)
    if content:
        assert index.path.with_name("history.db.set-aside").read_bytes() == content


@pytest.mark.parametrize(
    "change", ["PRAGMA user_version = 99", "PRAGMA application_id = 1", "UPDATE meta SET value = 'x' WHERE key = 'ns'"]
)
def test_an_index_of_another_version_or_journal_is_rebuilt(index: IndexRun, journal: Journal, change: str) -> None:
    journal.write(0, STARTED, up(), added("T"))
    index.catch_up()
    db = sqlite3.connect(index.path, isolation_level=None)
    db.execute(change)
    db.close()
    status = index.catch_up().status()
    assert status.set_aside is not None
    assert len(index.logged) == 1
    assert broker_names(index.route_at("T", 0)) == ["a"]


def test_a_damaged_index_is_rebuilt(index: IndexRun, journal: Journal) -> None:
    journal.write(0, STARTED, up(), added(*(f"T{n}" for n in range(300))))
    index.catch_up()
    journal.write(1, *(added(f"U{n}") for n in range(300)))
    with index.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (index.path.stat().st_size - 4096))
    index.catch_up()
    assert "set aside" in index.logged[-1]
    assert broker_names(index.route_at("T7", 0)) == ["a"]
    assert broker_names(index.route_at("U7", 1)) == ["a"]


def test_the_index_is_rebuilt_if_the_journal_lost_its_end(index: IndexRun, journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(1, down(), gone("T"))
    index.catch_up()
    newest = journal.files.names()[-1]
    journal.files.remove(newest)
    journal.seq = 100
    journal.write(2, added("U"))
    index.catch_up()
    assert "record 5" in index.logged[0]
    assert broker_names(index.route_at("T", 2)) == ["a"]


def test_pruning_keeps_the_state_at_the_retention_boundary(index: IndexRun, journal: Journal) -> None:
    many = [f"T{n}" for n in range(40)]
    journal.write(0, STARTED, up(), added("T", *many), up("b", "i:1"), added(*many, broker="b"))
    journal.write(1, down("b", "i:1"), gone(*many, broker="b"))
    journal.write(2, TopicDeleted(topic="T", brokers=("a",)))
    kept = journal.write(10, up("c", "j:1"), added("T", broker="c")) - 1
    journal.write(11, STARTED)
    index.catch_up()
    before = [index.route_at(topic, at).route for topic in ("T", "T7") for at in (10, 11)]
    for name in journal.files.names():
        if int(name[:20]) < kept:
            journal.files.remove(name)
    index.catch_up()
    assert [index.route_at(topic, at).route for topic in ("T", "T7") for at in (10, 11)] == before
    past = index.route_at("T7", 10)
    assert past.valid_from_ms is None
    assert past.certainty.known
    assert not past.certainty.events_may_be_missing
    assert not index.route_at("T7", 5).certainty.known
    db = sqlite3.connect(index.path)
    assert db.execute("SELECT min(seq) FROM marks").fetchone()[0] == kept
    assert db.execute("SELECT count(*) FROM pieces").fetchone()[0] == 1
    db.close()


def test_an_index_created_after_retention_reports_missing_events(index: IndexRun, journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    journal.write(1, added("U"))
    journal.files.remove(journal.files.names()[0])
    index.catch_up()
    certainty = index.route_at("U", 1).certainty
    assert certainty.events_may_be_missing
    assert certainty.missing == []


def test_an_unwritable_folder_is_reported_and_retried(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    logged: list[str] = []
    follower = IndexFollower(journal.home / "missing" / "history.db", journal.files, rest=0, log=logged.append)
    follower.start()
    while follower.status().state != "failing":
        threading.Event().wait(0.01)
    assert follower.status().problem is not None
    follower.stop()
    assert len(logged) == 1
    assert "retrying" in logged[0]


def test_the_index_of_an_empty_journal_knows_nothing(index: IndexRun) -> None:
    index.catch_up()
    past = index.route_at("T", 0)
    assert (past.route, past.certainty.known, past.certainty.extent) == (None, False, None)
