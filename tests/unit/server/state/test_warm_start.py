"""Recovery of the tables from a snapshot and the journal records after it, complete or damaged."""

from pathlib import Path

import pytest

from routebook.errors import HomeError
from routebook.events import Event, JournalHole, ServerStarted
from routebook.journal.files import FolderFiles
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from routebook.routes import RouteTable
from routebook.routes.image import capture
from routebook.server.state.snapshots import Snapshot, write_snapshot
from routebook.server.state.warm_start import RecoveredState, warm_start
from routebook.settings import Settings, from_values
from tests.support.route_tables import OTHER, PLAIN, SLAVE, dump, key, register, registration, version


class Past:
    """A home with a journal. The clock shows 1000."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.table = RouteTable()
        self.seq = 0
        opened = open_journal(
            FolderFiles(home / "journal"), ns="n", boot="b", options=JournalOptions(), now_ms=lambda: 5
        )
        self.writer = opened.writer

    def record(self, *events: Event) -> None:
        for event in events:
            self.seq = self.writer.append(event, 5)

    def register(self, broker: str, addr: str, *topics: str, counter: int = 1) -> None:
        what = registration(broker, addr=addr, topics=(broker, *topics), data_version=version(counter))
        self.record(*register(self.table, what).events)

    def snapshot(self) -> None:
        write_snapshot(
            self.home / "snapshot", Snapshot(ns="n", boot="b", seq=self.seq, at=5, tables=capture(self.table))
        )

    def segments(self) -> list[Path]:
        return sorted((self.home / "journal").glob("*.jsonl*"))

    def end(self, *, orderly: bool = True) -> None:
        if orderly:
            self.writer.stop()
        else:
            self.writer.commit()

    def recover(self, *, cold: bool = False, **settings: str) -> RecoveredState:
        values = {key.replace("_", "."): value for key, value in settings.items()}
        built = Settings.build([from_values(values)], home=str(self.home))
        return warm_start(self.home, ns="n", settings=built, now_ms=1_000, wall_ms=lambda: 5, cold=cold)


@pytest.fixture
def past(tmp_path: Path) -> Past:
    made = Past(tmp_path)
    made.register("a", "a:1", "T", "U")
    made.register("b", OTHER, "T")
    return made


def uncertain(state: RecoveredState) -> set[str]:
    return {key.addr for key, lease in state.routes.lease_table.items() if lease.is_uncertain}


def test_an_empty_home_gives_empty_tables(tmp_path: Path) -> None:
    state = warm_start(tmp_path, ns="n", settings=Settings.build(), now_ms=0, wall_ms=lambda: 5)
    assert (state.recovered, state.replayed, state.problems, state.repairs) == (0, 0, (), ())
    assert state.journal.status().last_seq == 0


def test_recovery_from_the_journal_only(past: Past) -> None:
    past.end()
    state = past.recover()
    assert dump(state.routes) == dump(past.table)
    assert (state.recovered, state.replayed, state.problems, uncertain(state)) == (2, 4, (), set())
    lease = state.routes.lease_table[key(OTHER)]
    assert lease.last_update_ms + lease.timeout_ms == 121_000


def test_recovery_from_a_snapshot_and_the_journal_tail(past: Past) -> None:
    past.snapshot()
    past.register("c", SLAVE, "V")
    past.end()
    state = past.recover(routebook_recoveredLeaseSeconds="10")
    assert dump(state.routes) == dump(past.table)
    assert (state.recovered, state.replayed) == (3, 2)
    lease = state.routes.lease_table[key(OTHER)]
    assert lease.last_update_ms + lease.timeout_ms == 11_000


def test_recovery_from_a_snapshot_only_continues_after_its_number(past: Past) -> None:
    past.snapshot()
    past.end()
    for path in (past.home / "journal").iterdir():
        path.unlink()
    state = past.recover()
    assert dump(state.routes) == dump(past.table)
    assert state.journal.status().last_seq >= past.seq
    assert uncertain(state) == set()


def test_a_cold_start_is_empty_and_continues_the_numbers(past: Past) -> None:
    past.snapshot()
    past.end()
    state = past.recover(cold=True)
    assert (state.recovered, state.cold) == (0, True)
    assert state.routes.topics() == []
    assert state.journal.status().last_seq == past.seq


def test_a_cold_start_in_the_journal_clears_the_tables(past: Past) -> None:
    past.record(ServerStarted(version="v", listen="l", cold=True))
    past.table = RouteTable()
    past.register("c", SLAVE, "V")
    past.end()
    assert dump(past.recover().routes) == dump(past.table)


def test_after_a_crash_the_last_changed_broker_is_uncertain(past: Past) -> None:
    past.end(orderly=False)
    state = past.recover()
    assert dump(state.routes) == dump(past.table)
    assert uncertain(state) == {OTHER}


def test_after_a_crash_a_single_event_change_is_certain(past: Past) -> None:
    past.record(*past.table.wipe_write("b")[1].events)
    past.end(orderly=False)
    assert uncertain(past.recover()) == set()


def test_a_torn_last_line_is_cut_off_and_reported(past: Past) -> None:
    past.end(orderly=False)
    (segment,) = past.segments()
    segment.write_bytes(segment.read_bytes()[:-20])
    state = past.recover()
    assert any("torn last line" in problem for problem in state.problems)
    assert state.replayed == 3
    assert set(state.routes.topics()) == {"a", "T", "U"}
    assert uncertain(state) == {OTHER}


def test_a_hole_makes_all_brokers_uncertain(past: Past) -> None:
    past.end(orderly=False)
    (segment,) = past.segments()
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join([*lines[:1], *lines[2:]]))  # the topics of the first broker
    state = past.recover()
    assert uncertain(state) == {"a:1", OTHER}
    assert any("record 2 missing" in problem for problem in state.problems)
    assert set(state.routes.topics()) == {"b", "T"}


def test_a_hole_before_the_snapshot_is_ignored(past: Past) -> None:
    past.writer._backlog.next_seq += 1  # a number without a record
    past.register("c", SLAVE, "V")
    past.snapshot()
    past.register("c", SLAVE, "V", "W", counter=2)
    past.end()
    state = past.recover()
    assert dump(state.routes) == dump(past.table)
    assert (uncertain(state), state.problems) == (set(), ())


def test_a_recorded_hole_after_the_snapshot_makes_all_brokers_uncertain(past: Past) -> None:
    past.snapshot()
    past.record(JournalHole(first_missing=4, last_missing=4, count=1, why="test"))
    past.writer._backlog.next_seq += 1
    past.register("c", SLAVE, "V")
    past.end()
    assert uncertain(past.recover()) == {"a:1", OTHER, SLAVE}


def test_topics_of_a_broker_that_left_in_the_crash_are_removed_and_recorded(past: Past) -> None:
    down, *_ = past.table.unregister(key(OTHER), broker="b", broker_id=0, connection=1, policy=PLAIN).events
    past.record(down)  # without the event that removes its topics
    past.end(orderly=False)
    state = past.recover()
    assert dump(state.routes) == dump(past.table)
    assert [getattr(event, "removed", None) for event in state.repairs] == [("T", "b")]


def test_a_journal_of_another_nameserver_stops_the_start(past: Past) -> None:
    past.end()
    with pytest.raises(HomeError, match=r"belongs to NameServer n.*routebook\.journal\.enabled=false"):
        warm_start(past.home, ns="other", settings=Settings.build(), now_ms=0, wall_ms=lambda: 5)
