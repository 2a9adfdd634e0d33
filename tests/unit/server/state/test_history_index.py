"""The history index follows the journal of a server and answers from it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from routebook.client.client import NameServerClient
from routebook.journal.files import FolderFiles
from routebook.kv import KvStore
from routebook.server.observe.health import Condition
from routebook.server.server import Server
from routebook.server.state.history_index import HistoryIndex
from routebook.server.state.home import Home
from routebook.settings import Settings, from_values
from tests.support.asynchronous import asynchronous
from tests.support.http import until
from tests.support.route_tables import registration


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


@asynccontextmanager
async def serving(path: Path, **given: str) -> AsyncIterator[Server]:
    settings = Settings.build([from_values({"listenPort": "0", **given})], home=str(path))
    with Home.open(path) as home:
        server = Server.open(settings, kv=KvStore(), home=home)
        await server.start()
        try:
            yield server
        finally:
            await server.stop()


@asynchronous
async def test_the_index_follows_the_journal(tmp_path: Path) -> None:
    logged: list[str] = []
    history = HistoryIndex(tmp_path, FolderFiles(tmp_path / "journal"), wall_ms=_wall_ms, log=logged.append)
    assert history.health().condition is Condition.OK
    async with serving(tmp_path) as server:
        answers = history.start()
        async with NameServerClient(server.address) as client:
            await client.register_broker(registration(topics=["T", "U"]))
            await until(lambda: history.health().facts["last_seq"] == server.recorder.last_seq)
            past = answers.route_at("T", _wall_ms())
            assert past.route is not None
            assert past.certainty.observed
        last = server.recorder.last_seq
    history.stop()
    part = history.health()
    assert (part.facts["state"], part.condition) == ("stopped", Condition.OK)
    assert int(part.facts["last_seq"] or 0) > last  # includes the records of the shutdown
    assert logged == []
