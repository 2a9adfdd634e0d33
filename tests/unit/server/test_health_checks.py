"""What the memory of a server tells about its health."""

import asyncio
from pathlib import Path

from routebook.server.observe.health import Condition
from tests.support.in_process_server import connected, running
from tests.support.remoting import register


def test_all_parts_of_a_healthy_server(tmp_path: Path) -> None:
    async def play() -> None:
        async with running(tmp_path) as server, connected(server) as talk:
            assert (await talk.ask(register())).code == 0
            report = server.health.report()
            assert {"journal", "snapshot", "recovery", "preservation"} <= report.parts.keys()
            assert report.condition is Condition.OK
            assert report.parts["recovery"].facts["recovered"] == 0

    asyncio.run(play())


def test_who_is_still_awaited(tmp_path: Path) -> None:
    async def play() -> None:
        async with running(tmp_path) as server, connected(server) as talk:
            assert (await talk.ask(register())).code == 0
            await server.stop()
        async with running(tmp_path) as server, connected(server) as talk:
            recovery = server.health.report().parts["recovery"]
            assert (recovery.facts["recovered"], recovery.facts["awaited"]) == (1, 1)
            assert "1 brokers known from before" in recovery.says
            assert (await talk.ask(register())).code == 0
            assert server.health.report().parts["recovery"].facts["awaited"] == 0

    asyncio.run(play())


def test_snapshots_that_cannot_be_written(tmp_path: Path) -> None:
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


def test_silent_brokers_that_are_kept(tmp_path: Path) -> None:
    async def play() -> None:
        async with running(tmp_path) as server, connected(server) as talk:
            for n in range(6):
                assert (await talk.ask(register(broker=f"b{n}", addr=f"10.0.0.{n}:1", timeout_ms=1))).code == 0
            server.nameserver.scan(server.nameserver.started_ms + 600_000)
            part = server.health.report().parts["preservation"]
            assert (part.condition, part.facts["active"], part.facts["silent"]) == (Condition.DEGRADED, True, 6)
            assert "routes of 6 silent brokers are kept" in part.says
            assert server.health.report().ready

    asyncio.run(play())
