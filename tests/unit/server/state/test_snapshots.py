"""Snapshots from time to time, of one moment, and the last one at the end."""

import asyncio
from pathlib import Path

import pytest

from routebook.events import ServerStopped
from routebook.journal.files import FolderFiles
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.writer import Writer
from routebook.routes import RouteTable
from routebook.server.observe.event_log import EventLog
from routebook.server.state import snapshots as keeping
from routebook.server.state.recorder import Recorder
from routebook.server.state.snapshot_file import find_newest
from routebook.server.state.snapshots import Snapshots
from tests.support.in_process_server import until
from tests.support.route_tables import dump, register, registration, version

EVENT = ServerStopped(reason="x" * 1000)


class Bench:
    """Tables, a journal and a keeper."""

    def __init__(self, home: Path, *, every_s: float = 3600.0) -> None:
        self.folder = home / "snapshot"
        self.routes = RouteTable()
        files = FolderFiles(home / "journal")
        self.journal: Writer = open_journal(
            files, ns="n", boot="b", options=JournalOptions(commit_ms=0), now_ms=lambda: 5
        ).writer
        self.journal.start()
        event_log = EventLog(lambda: 0.0)
        self.recorder = Recorder(event_log=event_log, ns="n", boot="b", journal=self.journal)
        self.keeper = Snapshots(
            self.folder,
            routes=self.routes,
            recorder=self.recorder,
            event_log=event_log,
            wall_ms=lambda: 7,
            every_s=every_s,
        )

    def change(self, counter: int, topics: int = 2) -> None:
        names = [f"t{counter}-{n}" for n in range(topics)]
        change = register(self.routes, registration(topics=names, data_version=version(counter)))
        self.recorder.record(change.events, at_ms=1)

    async def end(self) -> None:
        await self.keeper.stop()
        await asyncio.to_thread(self.journal.stop)


def test_one_is_taken_when_it_is_time_and_one_at_the_end(tmp_path: Path) -> None:
    async def play() -> Bench:
        bench = Bench(tmp_path, every_s=0.01)
        bench.keeper.start()
        bench.change(1)
        await until(lambda: bench.keeper.taken > 0, "the first")
        assert (bench.keeper.seq, bench.keeper.at_ms, bench.keeper.problem) == (2, 7, None)
        taken = bench.keeper.taken
        await asyncio.sleep(0.1)
        assert bench.keeper.taken == taken, "nothing new, no other one"
        bench.change(2)
        await bench.end()
        return bench

    bench = asyncio.run(play())
    found = find_newest(bench.folder, ns="n")
    assert found.seq == bench.recorder.last_seq
    assert dump(found.routes) == dump(bench.routes)


def test_it_is_of_one_moment_though_the_tables_change_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_QUEUES_A_STEP", 10)
    moments = {}

    async def play() -> None:
        bench = Bench(tmp_path)
        bench.change(1, topics=500)
        taking = asyncio.ensure_future(bench.keeper.take())
        counter = 1
        while not taking.done():
            counter += 1
            bench.change(counter)
            moments[bench.recorder.last_seq] = dump(bench.routes)
            await asyncio.sleep(0)
        await taking
        found = find_newest(bench.folder, ns="n")
        assert dump(found.routes) == moments[found.seq]
        await bench.end()

    asyncio.run(play())
    assert len(moments) > 10, "it took several steps"


def test_much_in_the_journal_brings_one_sooner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_LOOK_S", 0.01)
    monkeypatch.setattr(keeping, "_TAIL_BYTES", 100_000)

    async def play() -> None:
        bench = Bench(tmp_path)
        bench.keeper.start()
        await asyncio.sleep(0.05)
        assert bench.keeper.taken == 0
        bench.recorder.record([EVENT] * 120, at_ms=1)
        await until(lambda: bench.keeper.taken == 1, "a snapshot long before its time")
        await bench.end()

    asyncio.run(play())


def test_a_folder_that_cannot_be_written_is_a_problem_until_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        bench = Bench(tmp_path)
        bench.folder.write_text("a file where a folder should be")
        bench.change(1)
        await bench.keeper.take()
        await bench.keeper.take()
        assert str(bench.folder) in (bench.keeper.problem or "")
        bench.folder.unlink()
        await bench.keeper.take()
        assert not bench.keeper.problem
        await bench.end()

    asyncio.run(play())
    assert [record.message for record in caplog.records if record.message == "not saved"] == ["not saved"]
