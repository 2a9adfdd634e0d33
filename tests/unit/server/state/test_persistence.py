"""Persistence: health of journal, snapshots and recovery."""

import asyncio
from pathlib import Path

import msgspec

from routebook.journal.write.writer import JournalStatus
from routebook.server.observe.health import Condition
from routebook.server.state.persistence import journal_health
from tests.support.in_process_server import connected, running
from tests.support.remoting import register

WRITING = JournalStatus(
    state="writing",
    reason=None,
    last_seq=9,
    durable_seq=8,
    waiting_records=1,
    waiting_bytes=10,
    lag_ms=3,
    written_records=8,
    written_bytes=80,
    dropped_records=0,
    holes=0,
    commits=2,
    failures=0,
    rolled_segments=0,
    removed_segments=0,
    removed_unarchived=0,
    rolling_problem=None,
    damaged_segments=(),
)


def test_a_healthy_server_reports_all_components(tmp_path: Path) -> None:
    async def play() -> None:
        async with running(tmp_path) as server, connected(server) as talk:
            assert (await talk.ask(register())).code == 0
            report = server.health.report()
            assert {"journal", "snapshot", "recovery", "preservation"} <= report.parts.keys()
            assert report.condition is Condition.OK
            assert report.parts["recovery"].facts["recovered"] == 0

    asyncio.run(play())


def test_recovered_brokers_are_awaited_until_they_register(tmp_path: Path) -> None:
    async def play() -> None:
        async with running(tmp_path) as server, connected(server) as talk:
            assert (await talk.ask(register())).code == 0
            await server.stop()
        async with running(tmp_path) as server, connected(server) as talk:
            recovery = server.health.report().parts["recovery"]
            assert (recovery.facts["recovered"], recovery.facts["awaited"]) == (1, 1)
            assert "1 recovered brokers have not registered" in recovery.says
            assert (await talk.ask(register())).code == 0
            assert server.health.report().parts["recovery"].facts["awaited"] == 0

    asyncio.run(play())


def test_an_unwritable_snapshot_folder_degrades_the_server(tmp_path: Path) -> None:
    async def play() -> None:
        async with running(tmp_path) as server:
            (tmp_path / "snapshot").write_text("a file where a folder should be")
            assert server.persistence.snapshots is not None
            await server.persistence.snapshots.take()
            part = server.health.report().parts["snapshot"]
            assert part.condition is Condition.DEGRADED
            assert str(tmp_path / "snapshot") in part.says
            (tmp_path / "snapshot").unlink()

    asyncio.run(play())


def test_a_writing_journal_is_ok() -> None:
    part = journal_health(WRITING)
    assert (part.condition, part.facts["last_seq"], part.facts["durable_seq"]) == (Condition.OK, 9, 8)


def test_a_degraded_journal_reports_the_reason() -> None:
    part = journal_health(msgspec.structs.replace(WRITING, state="degraded", reason="disk full", dropped_records=4))
    assert part.condition is Condition.DEGRADED
    assert "disk full" in part.says
    assert "4 records dropped" in part.says


def test_failed_segment_removal_degrades_the_journal() -> None:
    part = journal_health(msgspec.structs.replace(WRITING, rolling_problem="permission denied"))
    assert part.condition is Condition.DEGRADED
    assert "permission denied" in part.says


def test_damaged_segments_degrade_the_journal() -> None:
    part = journal_health(msgspec.structs.replace(WRITING, damaged_segments=("a: the compressed data ends early",)))
    assert (part.condition, part.facts["damaged_segments"]) == (Condition.DEGRADED, 1)
    assert "a: the compressed data ends early" in part.says
