"""What is known at a start, from a snapshot and what the journal tells since, whole or not."""

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
    """A home whose NameServer has seen something. The clock stands at 1000."""

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

    def recalled(self, *, cold: bool = False, **settings: str) -> RecoveredState:
        values = {key.replace("_", "."): value for key, value in settings.items()}
        built = Settings.build([from_values(values)], home=str(self.home))
        return warm_start(self.home, ns="n", settings=built, now_ms=1_000, wall_ms=lambda: 5, cold=cold)


@pytest.fixture
def past(tmp_path: Path) -> Past:
    made = Past(tmp_path)
    made.register("a", "a:1", "T", "U")
    made.register("b", OTHER, "T")
    return made


def doubtful(memory: RecoveredState) -> set[str]:
    return {key.addr for key, lease in memory.routes.lease_table.items() if lease.doubtful}


def test_nothing_at_all_is_fine(tmp_path: Path) -> None:
    memory = warm_start(tmp_path, ns="n", settings=Settings.build(), now_ms=0, wall_ms=lambda: 5)
    assert (memory.recovered, memory.replayed, memory.problems, memory.repairs) == (0, 0, (), ())
    assert memory.journal.status().last_seq == 0


def test_from_the_journal_alone(past: Past) -> None:
    past.end()
    memory = past.recalled()
    assert dump(memory.routes) == dump(past.table)
    assert (memory.recovered, memory.replayed, memory.problems, doubtful(memory)) == (2, 4, (), set())
    lease = memory.routes.lease_table[key(OTHER)]
    assert lease.last_update_ms + lease.timeout_ms == 121_000


def test_from_a_snapshot_and_what_follows(past: Past) -> None:
    past.snapshot()
    past.register("c", SLAVE, "V")
    past.end()
    memory = past.recalled(routebook_recoveredLeaseSeconds="10")
    assert dump(memory.routes) == dump(past.table)
    assert (memory.recovered, memory.replayed) == (3, 2)
    lease = memory.routes.lease_table[key(OTHER)]
    assert lease.last_update_ms + lease.timeout_ms == 11_000


def test_from_a_snapshot_alone_numbers_go_on_beyond_it(past: Past) -> None:
    past.snapshot()
    past.end()
    for path in (past.home / "journal").iterdir():
        path.unlink()
    memory = past.recalled()
    assert dump(memory.routes) == dump(past.table)
    assert memory.journal.status().last_seq >= past.seq
    assert doubtful(memory) == set()


def test_cold_is_empty_and_numbers_go_on(past: Past) -> None:
    past.snapshot()
    past.end()
    memory = past.recalled(cold=True)
    assert (memory.recovered, memory.cold) == (0, True)
    assert memory.routes.topics() == []
    assert memory.journal.status().last_seq == past.seq


def test_a_cold_start_in_the_journal_forgets_what_was_before(past: Past) -> None:
    past.record(ServerStarted(version="v", listen="l", cold=True))
    past.table = RouteTable()
    past.register("c", SLAVE, "V")
    past.end()
    assert dump(past.recalled().routes) == dump(past.table)


def test_after_a_crash_the_last_change_is_doubted(past: Past) -> None:
    past.end(orderly=False)
    memory = past.recalled()
    assert dump(memory.routes) == dump(past.table)
    assert doubtful(memory) == {OTHER}


def test_after_a_crash_a_whole_change_is_not(past: Past) -> None:
    past.record(*past.table.wipe_write("b")[1].events)
    past.end(orderly=False)
    assert doubtful(past.recalled()) == set()


def test_a_torn_end_is_cut_off_and_said(past: Past) -> None:
    past.end(orderly=False)
    (segment,) = past.segments()
    segment.write_bytes(segment.read_bytes()[:-20])
    memory = past.recalled()
    assert any("torn last line" in wrong for wrong in memory.problems)
    assert memory.replayed == 3
    assert set(memory.routes.topics()) == {"a", "T", "U"}
    assert doubtful(memory) == {OTHER}


def test_a_hole_makes_all_of_it_doubtful(past: Past) -> None:
    past.end(orderly=False)
    (segment,) = past.segments()
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join([*lines[:1], *lines[2:]]))  # the topics of the first broker
    memory = past.recalled()
    assert doubtful(memory) == {"a:1", OTHER}
    assert any("record 2 missing" in wrong for wrong in memory.problems)
    assert set(memory.routes.topics()) == {"b", "T"}


def test_a_hole_before_the_snapshot_does_not_matter(past: Past) -> None:
    past.writer._backlog.next_seq += 1  # a number that nobody will find
    past.register("c", SLAVE, "V")
    past.snapshot()
    past.register("c", SLAVE, "V", "W", counter=2)
    past.end()
    memory = past.recalled()
    assert dump(memory.routes) == dump(past.table)
    assert (doubtful(memory), memory.problems) == (set(), ())


def test_a_told_hole_after_the_snapshot_is_doubted(past: Past) -> None:
    past.snapshot()
    past.record(JournalHole(first_missing=4, last_missing=4, count=1, why="test"))
    past.writer._backlog.next_seq += 1
    past.register("c", SLAVE, "V")
    past.end()
    assert doubtful(past.recalled()) == {"a:1", OTHER, SLAVE}


def test_topics_whose_broker_left_in_the_crash_go_and_that_is_recorded(past: Past) -> None:
    down, *_ = past.table.unregister(key(OTHER), broker="b", broker_id=0, connection=1, policy=PLAIN).events
    past.record(down)  # and not the event that its topics are gone
    past.end(orderly=False)
    memory = past.recalled()
    assert dump(memory.routes) == dump(past.table)
    assert [getattr(event, "removed", None) for event in memory.repairs] == [("T", "b")]


def test_a_journal_of_somebody_else_stops_the_start(past: Past) -> None:
    past.end()
    with pytest.raises(HomeError, match=r"belongs to NameServer n.*routebook\.journal\.enabled=false"):
        warm_start(past.home, ns="other", settings=Settings.build(), now_ms=0, wall_ms=lambda: 5)
