"""The history index follows the journal of a server and answers from it."""

import time
from pathlib import Path

from routebook.client.client import NameServerClient
from routebook.journal.files import FolderFiles
from routebook.server.observe.health import Condition
from routebook.server.state.history_index import HistoryIndex
from tests.support.asynchronous import asynchronous
from tests.support.http import until
from tests.support.in_process_server import running
from tests.support.route_tables import registration


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


@asynchronous
async def test_the_index_follows_the_journal(tmp_path: Path) -> None:
    logged: list[str] = []
    history = HistoryIndex(tmp_path, FolderFiles(tmp_path / "journal"), wall_ms=_wall_ms, log=logged.append)
    assert history.health().condition is Condition.OK
    async with running(tmp_path) as server:
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
