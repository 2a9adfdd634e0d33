"""The SQLite log: what was committed is there after a restart, and concurrent commits share a transaction."""

import asyncio
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest

from routebook.controller.state import BrokerSet, IdApplied, ReplicasRemoved, apply
from routebook.server.controller.log import LogError, LogListener, Node, NotLeader
from routebook.server.controller.sqlite_log import FILE, SqliteLog

NODE = Node("n0", "127.0.0.1:9878")


class Heard:
    """Records the callbacks of a log."""

    def __init__(self) -> None:
        self.sets: dict[str, BrokerSet] = {}
        self.leading: list[bool] = []

    @property
    def listener(self) -> LogListener:
        return LogListener(self._take, lambda _name, _state: None, self.leading.append)

    def _take(self, sets: Mapping[str, BrokerSet]) -> None:
        self.sets = dict(sets)


def applied(name: str, number: int = 1) -> IdApplied:
    return IdApplied("C", name, number, f"10.0.0.{number}:1", f"10.0.0.{number}:1;7")


async def reopened(folder: Path) -> dict[str, BrokerSet]:
    heard = Heard()
    log = SqliteLog(folder, NODE)
    await log.start(heard.listener)
    await log.stop()
    return heard.sets


async def commit(log: SqliteLog, name: str) -> BrokerSet:
    event = applied(name)
    state = apply(None, event)
    assert state is not None
    await log.commit(event, state)
    return state


def test_committed_sets_survive_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        heard = Heard()
        log = SqliteLog(tmp_path, NODE)
        await log.start(heard.listener)
        assert (log.leader, heard.leading, heard.sets) == (NODE, [True], {})
        states = await asyncio.gather(*(commit(log, f"b-{number}") for number in range(50)))
        await log.commit(ReplicasRemoved("b-0", None), None)
        await log.stop()
        assert await reopened(tmp_path) == {state.name: state for state in states[1:]}

    asyncio.run(main())


def test_a_commit_is_synced_to_disk(tmp_path: Path) -> None:
    async def main() -> None:
        log = SqliteLog(tmp_path, NODE)
        await log.start(Heard().listener)
        assert log._database is not None
        assert log._database.execute("PRAGMA synchronous").fetchone() == (2,)
        assert log._database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        await log.stop()
        with pytest.raises(NotLeader):
            await commit(log, "b-a")

    asyncio.run(main())


def test_a_failed_commit_changes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        log = SqliteLog(tmp_path, NODE)
        await log.start(Heard().listener)
        kept = await commit(log, "b-a")
        assert log._database is not None
        log._database.execute("PRAGMA query_only=ON")
        with pytest.raises(LogError, match="cannot write"):
            await commit(log, "b-b")
        log._database.execute("PRAGMA query_only=OFF")
        other = await commit(log, "b-c")
        assert log.problem is None
        await log.stop()
        assert await reopened(tmp_path) == {"b-a": kept, "b-c": other}

    asyncio.run(main())


def test_text_that_cannot_be_stored_fails_alone(tmp_path: Path) -> None:
    """A commit always ends: one that did not would block its set for good."""

    async def main() -> None:
        log = SqliteLog(tmp_path, NODE)
        await log.start(Heard().listener)
        async with asyncio.timeout(60):
            with pytest.raises(LogError, match="cannot write"):
                await commit(log, "b-\udc80")
            kept = await commit(log, "b-a")
        await log.stop()
        assert await reopened(tmp_path) == {"b-a": kept}

    asyncio.run(main())


def test_a_second_process_cannot_lead_with_the_same_file(tmp_path: Path) -> None:
    """It would decide on an old copy of the sets, and overwrite them."""

    async def main() -> None:
        log = SqliteLog(tmp_path, NODE)
        await log.start(Heard().listener)
        with pytest.raises(LogError, match="another Controller uses it"):
            await reopened(tmp_path)
        kept = await commit(log, "b-a")
        await log.stop()
        assert await reopened(tmp_path) == {"b-a": kept}

    asyncio.run(main())


def test_a_file_of_a_newer_release_is_rejected(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / FILE)
    database.execute("PRAGMA user_version=2")
    database.close()
    with pytest.raises(LogError, match="format 2"):
        asyncio.run(reopened(tmp_path))


def test_a_file_that_is_not_a_database_is_rejected(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"x" * 4096)
    with pytest.raises(LogError, match=FILE):
        asyncio.run(reopened(tmp_path))


def test_a_commit_does_not_wait_for_later_ones(tmp_path: Path) -> None:
    async def main() -> None:
        log = SqliteLog(tmp_path, NODE)
        await log.start(Heard().listener)
        first = asyncio.create_task(commit(log, "first"))
        later: list[asyncio.Task[BrokerSet]] = []
        while not first.done():  # there is always another commit that waits
            later.append(asyncio.create_task(commit(log, f"later-{len(later)}")))
            await asyncio.sleep(0)
        assert not all(task.done() for task in later)
        await asyncio.gather(*later)
        await log.stop()

    asyncio.run(main())
