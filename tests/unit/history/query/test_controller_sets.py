"""Who was master at a time, since when, and why: queries over journals with events of the Controller."""

from routebook.controller_events import BrokerSetState, ElectionCause, ReplicasCleaned
from routebook.history.query.controller_sets import Elections, PastSetAnswer
from routebook.history.query.history import History
from routebook.history.query.offline import open_offline
from tests.support.controller_journals import assigned, elected, leads, write_failover
from tests.support.small_journals import BORN, STARTED, IndexRun, Journal


def set_at(journal: Journal, at_s: float) -> PastSetAnswer:
    with open_offline(journal.home) as history:
        return history.set_at("a", BORN + int(at_s * 1000))


def elections(journal: Journal, **more: int) -> Elections:
    with open_offline(journal.home) as history:
        return history.elections("a", **more)


def test_the_master_at_a_time_with_its_validity_and_the_election(journal: Journal) -> None:
    write_failover(journal)
    answer = set_at(journal, 30)
    assert answer.led
    assert answer.set is not None
    assert (answer.set.master_id, answer.set.master_addr, answer.set.master_epoch) == (1, "h:1", 1)
    assert (answer.set.since_ms, answer.set.until_ms) == (BORN + 3000, BORN + 60_200)
    assert [(one.id, one.is_master, one.in_sync) for one in answer.set.replicas] == [(1, True, True), (2, False, True)]
    assert answer.set.cause is not None
    assert (answer.set.cause.kind, answer.set.cause.why) == ("master_elected", "first")
    after = set_at(journal, 61).set
    assert after is not None
    assert after.election is not None
    assert (after.master_id, after.election.before_id, after.election.cause) == (2, 1, "closed")
    assert after.election.lost_at_ms == BORN + 60_000
    assert [one.in_sync for one in after.replicas] == [False, True]


def test_a_set_without_a_master_names_the_election_that_found_none(journal: Journal) -> None:
    write_failover(journal)
    found = set_at(journal, 150).set
    assert found is not None
    assert (found.master_id, found.master_addr, found.master_epoch) == (None, None, 3)
    assert (found.since_ms, found.until_ms) == (BORN + 130_000, BORN + 200_000)
    assert found.election is not None
    assert (found.election.master_id, found.election.before_id, found.election.cause) == (None, 2, "expired")
    last = set_at(journal, 201).set
    assert last is not None
    assert (last.master_id, last.until_ms) == (2, None)


def test_before_the_first_id_there_is_no_set(journal: Journal) -> None:
    write_failover(journal)
    assert set_at(journal, 0.5).set is None
    before = set_at(journal, -1)
    assert (before.set, before.certainty.known, before.led) == (None, False, False)


def test_elections_newest_first_and_in_pages(journal: Journal) -> None:
    write_failover(journal)
    newest = elections(journal, limit=2)
    assert [(one.master_id, one.cause) for one in newest.elections] == [(2, "broker"), (None, "expired")]
    assert newest.more
    older = elections(journal, limit=9, before_ms=newest.elections[-1].at_ms - 1)
    assert [(one.master_id, one.before_id) for one in older.elections] == [(2, 1), (1, None)]
    assert not older.more
    with open_offline(journal.home) as history:
        assert len(history.elections().elections) == 4
        assert history.elections("b").elections == []
        assert [one.broker for one in history.sets_at(BORN + 30_000).sets] == ["a"]


def test_a_node_that_did_not_lead_says_so_and_learns_what_it_missed(journal: Journal) -> None:
    write_failover(journal)
    journal.write(300, leads(leads=False))
    found = BrokerSetState(
        cluster="C", broker="a", master_id=1, master_epoch=6, sync_state_epoch=9, in_sync=(1,), replicas={1: "h:1"}
    )
    journal.write(400, leads("a"), found)
    away = set_at(journal, 350)
    assert not away.led
    assert away.set is not None
    assert away.set.master_id == 2  # the last known
    back = set_at(journal, 400).set
    assert back is not None
    assert (back.master_id, back.election, back.since_ms) == (1, None, BORN + 400_000)
    assert back.cause is not None
    assert back.cause.kind == "broker_set_state"


def test_removed_sets_are_gone_also_if_another_node_removed_them(journal: Journal) -> None:
    journal.write(0, STARTED, leads(), assigned(1), elected(1, 1, ElectionCause.FIRST))
    journal.write(5, ReplicasCleaned(cluster="C", broker="a", broker_ids=(1,), removed_set=True, before_id=1))
    assert set_at(journal, 4).set is not None
    assert set_at(journal, 5).set is None
    journal.write(6, assigned(1), elected(1, 1, ElectionCause.FIRST))
    again = set_at(journal, 6).set
    assert again is not None
    assert again.since_ms == BORN + 6000  # the epoch is the same, the mastership is not
    journal.write(9, leads())
    assert set_at(journal, 9).set is None


def test_the_index_continues_and_prunes(journal: Journal, index: IndexRun) -> None:
    journal.write(0, STARTED, leads(), assigned(1), elected(1, 1, ElectionCause.FIRST))
    index.catch_up()
    second = journal.write(60, elected(2, 2, ElectionCause.CLOSED, before=1))
    index.catch_up()
    history = History(index.path)
    try:
        found = history.set_at("a", BORN + 60_000).set
        assert found is not None
        assert (found.master_id, found.replicas[0].addr) == (2, "h:1")
        journal.files.remove(journal.files.names()[0])
        index.catch_up()
        kept = history.set_at("a", BORN + 60_000)
        assert kept.set is not None
        assert kept.set.since_ms == BORN + 60_000
        assert [one.seq for one in history.elections().elections] == [second]
    finally:
        history.close()
