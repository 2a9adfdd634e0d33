"""Endpoints that read the history."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from routebook.events import BrokerUp, Queues, ServerStarted, TopicCause, TopicsChanged
from routebook.history.index.follower import IndexFollower
from routebook.history.query.history import History
from routebook.journal.files import FolderFiles
from routebook.journal.write.options import JournalOptions
from tests.support.asynchronous import asynchronous
from tests.support.http import Rig, rig


@contextlib.contextmanager
def with_history(tmp_path: Path) -> Iterator[Rig]:
    files = FolderFiles(tmp_path / "journal")
    with rig(files, options=JournalOptions(commit_ms=1)) as some:
        some.record(ServerStarted(version="1", listen="h:1"), at_ms=1000)
        some.record(
            BrokerUp(cluster="C", broker="a", broker_id=0, addr="h:2", timeout_ms=1, acting_master=False), at_ms=2000
        )
        added = {"T/é": Queues(6, 8, 8, 0)}
        seq = some.record(TopicsChanged(broker="a", cause=TopicCause.REGISTRATION, added=added), at_ms=2000)
        assert some.writer is not None
        some.writer.durable(seq).result(20)
        follower = IndexFollower(tmp_path / "history.db", files, rest=0)
        follower.start()
        follower.stop()
        history = some.context.history = History(tmp_path / "history.db")
        yield some
        history.close()


@asynchronous
async def test_changes_of_a_route_and_of_a_broker(tmp_path: Path) -> None:
    with with_history(tmp_path) as some:
        async with some.client() as client:
            answer = (await client.get("/v1/routes/T%2F%C3%A9/history")).json()
            none = (await client.get("/v1/routes/T%2F%C3%A9/history?before=1500")).json()
            broker = (await client.get("/v1/brokers/a/history?limit=1")).json()
    (version,) = answer["versions"]
    assert (version["valid_from_ms"], version["valid_to_ms"], version["cause"]["kind"]) == (2000, None, "broker_up")
    assert [step["change"] for step in version["steps"]] == ["added"]
    assert answer["certainty"]["known"]
    assert none["versions"] == []
    assert broker["versions"][0]["addrs"] == {"0": "h:2"}


@asynchronous
async def test_without_a_history_it_is_503() -> None:
    with rig() as some:
        async with some.client() as client:
            for path in ("/v1/routes/T/history", "/v1/brokers/a/history"):
                response = await client.get(path)
                assert response.status_code == 503
                assert set(response.json()) == {"error", "hint"}
