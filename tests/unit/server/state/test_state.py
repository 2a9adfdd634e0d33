"""Disk and clock faults: the NameServer keeps serving, reports the fault, and recovers its state afterwards."""

import asyncio
import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from routebook.events import JournalHole, KvChanged
from routebook.journal.files import FolderFiles
from routebook.journal.read.verify import verify
from routebook.server.clock import Clock
from routebook.server.observe.health import Condition
from routebook.server.server import Server
from tests.support.in_process_server import connected, running, until
from tests.support.journals import events, records
from tests.support.remoting import put_kv, register, route
from tests.support.remoting_frames import Request
from tests.support.route_tables import dump
from tests.support.small_disk import SmallDisk, small_disk

WIPE = Request(code=205, ext={"brokerName": "broker-a"})
HOUR_MS = 3_600_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A home whose journal is on a small disk of its own."""
    (tmp_path / "home").mkdir()
    with small_disk(tmp_path / "home" / "journal") as disk:
        yield disk


def journal_part(server: Server) -> tuple[Condition, str]:
    part = server.health.report().parts["journal"]
    return part.condition, part.says


def is_written(server: Server) -> bool:
    """Ignores segment removal, which retries after a minute."""
    assert server.persistence.state is not None
    return server.persistence.state.journal.status().state == "writing"


async def serves(server: Server, *, topic: str = "TopicTest") -> None:
    """Check that registrations, look-ups and admin writes are answered."""
    async with connected(server) as talk:
        many = register(topics=[topic, *(f"{topic}-{n}" for n in range(200))])
        assert (await talk.ask(many)).code == 0
        assert (await talk.ask(route(topic))).code == 0
        assert (await talk.ask(WIPE)).code == 0
        assert (await talk.ask(Request(code=327, ext={"brokerName": "broker-a"}))).code == 0
    await until(lambda: not server.nameserver.routes.lease_table, "the connection to be gone")


def tables_at_start(home: Path) -> dict[str, object]:
    """The tables of a server that has just started."""

    async def play() -> dict[str, object]:
        async with running(home) as server:
            return dump(server.nameserver.routes)

    return asyncio.run(play())


def tables_at_stop(home: Path) -> dict[str, object]:
    """The tables of a server that has stopped with a broker connected."""

    async def play() -> dict[str, object]:
        async with running(home) as server, connected(server) as talk:
            assert (await talk.ask(register())).code == 0
            await server.stop()
            return dump(server.nameserver.routes)

    return asyncio.run(play())


def test_a_full_disk_stops_the_journal_not_the_nameserver(disk: SmallDisk) -> None:
    home = disk.path.parent

    async def play() -> None:
        async with running(home) as server:
            await serves(server)
            assert journal_part(server) == (Condition.OK, "")
            disk.fill()
            for n in range(8):
                await serves(server, topic=f"full-{n}")
            condition, says = journal_part(server)
            assert condition is Condition.DEGRADED
            assert "No space left on device" in says
            assert server.health.report().ready
            assert server.persistence.recorder.unkept > 0
            async with connected(server) as talk:
                assert (await talk.ask(put_kv("key", "value"))).code == 0, "the KV file is on another disk"
            disk.free()
            await until(lambda: journal_part(server)[0] is Condition.OK, "the journal to be written again")
            await serves(server, topic="after")

    asyncio.run(play())
    assert [change.key for change in events(home, KvChanged)] == ["key"]
    assert tables_at_stop(home) == tables_at_start(home)


def test_dropped_records_are_a_hole_that_a_snapshot_covers(disk: SmallDisk) -> None:
    home, killed = disk.path.parent, disk.path.parent.parent / "killed"

    async def play() -> dict[str, object]:
        async with running(home) as server, connected(server) as talk:
            assert server.persistence.state is not None
            assert server.persistence.snapshots is not None
            server.persistence.state.journal._backlog._max_records = 4  # a long outage fills a larger backlog
            disk.fill()
            for n in range(30):
                topics = [f"t{n}", *(f"t{n}-{m}" for m in range(100))]
                assert (await talk.ask(register(broker=f"b{n}", addr=f"10.0.0.{n}:1", topics=topics))).code == 0
            assert server.persistence.state.journal.status().dropped_records > 0
            taken = server.persistence.snapshots.taken
            disk.free()
            await until(lambda: is_written(server), "the journal to be written again")
            await until(
                lambda: server.persistence.snapshots is not None and server.persistence.snapshots.taken > taken,
                "a snapshot",
            )
            shutil.copytree(home, killed)  # the state after a crash at this moment
            return dump(server.nameserver.routes)

    before = asyncio.run(play())
    assert sum(hole.count for hole in events(killed, JournalHole)) > 0
    assert tables_at_start(killed) == before


def test_a_read_only_journal_does_not_prevent_the_start_or_recovery(disk: SmallDisk) -> None:
    home = disk.path.parent
    before = tables_at_stop(home)
    disk.remount("ro")

    async def play() -> None:
        async with running(home) as server:
            assert dump(server.nameserver.routes) == before
            condition, says = journal_part(server)
            assert condition is Condition.DEGRADED
            assert "Read-only file system" in says
            await serves(server)
            disk.remount("rw")
            await until(lambda: is_written(server), "the journal to be written again")

    asyncio.run(play())
    (hole,) = events(home, JournalHole)
    assert "Read-only file system" in hole.why
    assert hole.count >= 5, "records that could not be numbered in advance"


def test_a_deleted_segment_is_a_hole(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def play() -> dict[str, object]:
        async with running(home) as server, connected(server) as talk:
            assert (await talk.ask(register())).code == 0
            assert (await talk.ask(WIPE)).code == 0
            for segment in (home / "journal").glob("*.jsonl"):
                segment.unlink()
            assert (await talk.ask(Request(code=327, ext={"brokerName": "broker-a"}))).code == 0
            assert (await talk.ask(route("TopicTest"))).code == 0
            await until(lambda: journal_part(server)[0] is Condition.OK, "the journal to be repaired")
            before = dump(server.nameserver.routes)
            await server.stop()
            return before

    before = asyncio.run(play())
    (hole,) = events(home, JournalHole)
    assert "deleted while it was open" in hole.why
    assert tables_at_start(home) == before


def test_a_deleted_state_folder_is_created_again(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def play() -> dict[str, object]:
        async with running(home) as server, connected(server) as talk:
            assert (await talk.ask(register())).code == 0
            assert (await talk.ask(WIPE)).code == 0
            shutil.rmtree(home / "journal")
            shutil.rmtree(home / "snapshot", ignore_errors=True)
            assert (await talk.ask(Request(code=327, ext={"brokerName": "broker-a"}))).code == 0
            before = dump(server.nameserver.routes)
            await server.stop()
            return before

    before = asyncio.run(play())
    assert tables_at_start(home) == before


def test_a_wall_clock_that_jumps_back_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, real = tmp_path / "home", Clock.wall_ms
    back = False

    def wall_ms() -> int:
        return real() - (HOUR_MS if back else 0)

    monkeypatch.setattr(Clock, "wall_ms", staticmethod(wall_ms))

    async def play() -> dict[str, object]:
        nonlocal back
        async with running(home, scanNotActiveBrokerInterval=10) as server, connected(server) as talk:
            assert (await talk.ask(register())).code == 0
            assert (await talk.ask(WIPE)).code == 0
            back = True
            assert (await talk.ask(Request(code=327, ext={"brokerName": "broker-a"}))).code == 0
            server._effects.apply(server.nameserver.scan(server._clock.now_ms()))
            assert (await talk.ask(route("TopicTest"))).code == 0, "leases use the monotonic clock"
            assert journal_part(server)[0] is Condition.OK
            before = dump(server.nameserver.routes)
            await server.stop()
            return before

    before = asyncio.run(play())
    found = records(home)
    assert [record.seq for record in found] == list(range(1, len(found) + 1))
    jumps = [later.at - earlier.at for earlier, later in itertools.pairwise(found)]
    assert min(jumps) < -HOUR_MS + 60_000
    assert not verify(FolderFiles(home / "journal")).damage
    assert tables_at_start(home) == before, "with the clock still wrong"
