"""Snapshot files: format, damaged files, and the periodic writer."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import zstandard

from routebook.events import ServerStopped
from routebook.journal.files import FolderFiles
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.writer import Writer
from routebook.routes import RouteTable
from routebook.routes.image import capture
from routebook.server.observe.event_log import EventLog
from routebook.server.state import snapshots
from routebook.server.state.recorder import Recorder
from routebook.server.state.snapshots import (
    KEPT,
    Snapshot,
    SnapshotWriter,
    decode,
    encode,
    load_newest,
    write_snapshot,
)
from tests.support.in_process_server import until
from tests.support.route_tables import dump, mapping, register, registration, version

EVENT = ServerStopped(reason="x" * 1000)


def table(*topics: str) -> RouteTable:
    made = RouteTable()
    register(made, registration(topics=("base", *topics)))
    return made


def snapshot(seq: int, *topics: str, ns: str = "n") -> Snapshot:
    return Snapshot(ns=ns, boot="b", seq=seq, at=5, tables=capture(table(f"t{seq}", *topics)))


def test_the_newest_snapshot_is_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "snapshot"
    for seq in (9, 10, 100):
        assert write_snapshot(folder, snapshot(seq)) == (folder / f"{seq:020}.json.zst").stat().st_size
    found = load_newest(folder, ns="n")
    assert (found.seq, found.last_seq, found.problems) == (100, 100, ())
    assert dump(found.routes) == dump(table("t100"))


def test_old_snapshots_are_removed(tmp_path: Path) -> None:
    for seq in range(1, 6):
        write_snapshot(tmp_path, snapshot(seq))
    assert len(list(tmp_path.iterdir())) == KEPT
    assert load_newest(tmp_path, ns="n").seq == 5


def test_a_missing_folder_gives_empty_tables(tmp_path: Path) -> None:
    found = load_newest(tmp_path / "nowhere", ns="n")
    assert (found.seq, found.last_seq, found.problems) == (0, 0, ())
    assert found.routes.topics() == []


def cut(data: bytes) -> bytes:
    return data[:-10]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def not_fitting(data: bytes) -> bytes:
    whole = decode(data, ns="n")
    return encode(msgspec.structs.replace(whole, tables=msgspec.structs.replace(whole.tables, layout_of=[7, 7])))


def not_json(_data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(b"hello")


def without_size(data: bytes) -> bytes:
    text = zstandard.ZstdDecompressor().decompress(data)
    return zstandard.ZstdCompressor(write_content_size=False).compress(text)[:-3]


def empty(_data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [cut, flipped, not_fitting, not_json, without_size, empty])
def test_a_damaged_snapshot_is_set_aside_and_the_previous_one_is_used(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    write_snapshot(tmp_path, snapshot(1))
    write_snapshot(tmp_path, snapshot(2))
    newest = tmp_path / f"{2:020}.json.zst"
    newest.write_bytes(damage(newest.read_bytes()))
    found = load_newest(tmp_path, ns="n")
    assert (found.seq, found.last_seq) == (1, 2)
    assert dump(found.routes) == dump(table("t1"))
    (problem,) = found.problems
    assert f"{newest} cannot be used: " in problem
    assert f"set aside as {newest.name}.corrupt" in problem
    assert newest.with_name(newest.name + ".corrupt").exists()
    assert load_newest(tmp_path, ns="n").problems == ()


def test_a_snapshot_of_another_format_or_nameserver_is_not_used(tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot(1))
    write_snapshot(tmp_path, snapshot(2, ns="other"))
    newer = msgspec.structs.replace(snapshot(3), v=99)
    (tmp_path / f"{3:020}.json.zst").write_bytes(encode(newer))
    found = load_newest(tmp_path, ns="n")
    assert (found.seq, found.last_seq) == (1, 3)
    assert all(
        part in problem for part, problem in zip(["version 99", "NameServer other"], found.problems, strict=True)
    )
    assert len(list(tmp_path.glob("*.json.zst"))) == 3


def test_temporary_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    write_snapshot(tmp_path, snapshot(1))
    (tmp_path / f".{2:020}.json.zst.abc.tmp").write_bytes(b"half")
    load_newest(tmp_path, ns="n")
    assert [path.name for path in tmp_path.iterdir()] == [f"{1:020}.json.zst"]


def test_a_lone_surrogate_survives(tmp_path: Path) -> None:
    made = RouteTable()
    odd = msgspec.structs.replace(mapping("base", "broker-a"), scope="\ud800")
    register(made, registration(mappings=[odd]))
    write_snapshot(tmp_path, Snapshot(ns="n", boot="b", seq=1, at=5, tables=capture(made)))
    assert dump(load_newest(tmp_path, ns="n").routes) == dump(made)


def test_the_file_format(tmp_path: Path) -> None:
    """A change that breaks this needs another format version."""
    made = RouteTable()
    register(made, registration(topics=("A", "B"), mappings=[mapping("A", "broker-a")]))
    text = zstandard.ZstdDecompressor().decompress(
        encode(Snapshot(ns="n", boot="b", seq=7, at=5, tables=capture(made)))
    )
    assert text == (
        b'{"v":1,"ns":"n","boot":"b","seq":7,"at":5,"tables":{'
        b'"groups":[["broker-a","DefaultCluster",false,null,[[0,"DefaultCluster","10.0.0.1:10911"]]]],'
        b'"leases":[["DefaultCluster","10.0.0.1:10911",120000,{"counter":1,"stateVersion":0,"timestamp":1000},'
        b'"10.0.0.1:10912",[],false]],'
        b'"queues":[[0,6,8,8,0]],"layouts":[[0]],"topics":["A","B"],"layout_of":[0,0],'
        b'"mappings":{"A":{"broker-a":{"bname":"broker-a","currIdMap":{"0":0},"dirty":false,"epoch":1,'
        b'"scope":"__global__","topic":"A","totalQueues":8}}}}}'
    )


class Bench:
    """Tables, a journal and a snapshot writer."""

    def __init__(self, home: Path, *, interval_s: float = 3600.0) -> None:
        self.folder = home / "snapshot"
        self.routes = RouteTable()
        files = FolderFiles(home / "journal")
        self.journal: Writer = open_journal(
            files, ns="n", boot="b", options=JournalOptions(commit_ms=0), now_ms=lambda: 5
        ).writer
        self.journal.start()
        event_log = EventLog(lambda: 0.0)
        self.recorder = Recorder(event_log=event_log, ns="n", boot="b", journal=self.journal)
        self.writer = SnapshotWriter(
            self.folder,
            routes=self.routes,
            recorder=self.recorder,
            event_log=event_log,
            wall_ms=lambda: 7,
            interval_s=interval_s,
        )

    def change(self, counter: int, topics: int = 2) -> None:
        names = [f"t{counter}-{n}" for n in range(topics)]
        change = register(self.routes, registration(topics=names, data_version=version(counter)))
        self.recorder.record(change.events, at_ms=1)

    async def end(self) -> None:
        await self.writer.stop()
        await asyncio.to_thread(self.journal.stop)


def test_a_snapshot_is_taken_per_interval_and_at_shutdown(tmp_path: Path) -> None:
    async def play() -> Bench:
        bench = Bench(tmp_path, interval_s=0.01)
        bench.writer.start()
        bench.change(1)
        await until(lambda: bench.writer.taken > 0, "the first snapshot")
        assert (bench.writer.seq, bench.writer.at_ms, bench.writer.problem) == (2, 7, None)
        taken = bench.writer.taken
        await asyncio.sleep(0.1)
        assert bench.writer.taken == taken, "no change, no snapshot"
        bench.change(2)
        await bench.end()
        return bench

    bench = asyncio.run(play())
    found = load_newest(bench.folder, ns="n")
    assert found.seq == bench.recorder.last_seq
    assert dump(found.routes) == dump(bench.routes)


def test_a_snapshot_is_consistent_while_the_tables_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "_QUEUES_PER_SLICE", 10)
    moments = {}

    async def play() -> None:
        bench = Bench(tmp_path)
        bench.change(1, topics=500)
        taking = asyncio.ensure_future(bench.writer.take())
        counter = 1
        while not taking.done():
            counter += 1
            bench.change(counter)
            moments[bench.recorder.last_seq] = dump(bench.routes)
            await asyncio.sleep(0)
        await taking
        found = load_newest(bench.folder, ns="n")
        assert dump(found.routes) == moments[found.seq]
        await bench.end()

    asyncio.run(play())
    assert len(moments) > 10, "captured in several slices"


def test_a_long_journal_tail_triggers_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "_CHECK_S", 0.01)
    monkeypatch.setattr(snapshots, "_MAX_TAIL_BYTES", 100_000)

    async def play() -> None:
        bench = Bench(tmp_path)
        bench.writer.start()
        await asyncio.sleep(0.05)
        assert bench.writer.taken == 0
        bench.recorder.record([EVENT] * 120, at_ms=1)
        await until(lambda: bench.writer.taken == 1, "a snapshot before the interval ends")
        await bench.end()

    asyncio.run(play())


def test_an_unwritable_folder_is_logged_once_and_reported_until_it_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        bench = Bench(tmp_path)
        bench.folder.write_text("a file where a folder should be")
        bench.change(1)
        await bench.writer.take()
        await bench.writer.take()
        assert str(bench.folder) in (bench.writer.problem or "")
        bench.folder.unlink()
        await bench.writer.take()
        assert not bench.writer.problem
        await bench.end()

    asyncio.run(play())
    assert [record.message for record in caplog.records if record.message == "not saved"] == ["not saved"]
