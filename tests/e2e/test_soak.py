"""A fleet with random faults and restarts: at the end tables, journal and API agree.

`--soak-seconds` sets the duration; `make soak` takes two minutes.
"""

import asyncio
import json
import random
import signal
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from routebook.events import JournalHole, KvChanged, ServerStarted
from routebook.journal.files import FolderFiles
from routebook.journal.read.verify import verify
from tests.support.free_ports import free_port
from tests.support.journals import events
from tests.support.naive_fold import fold_journal
from tests.support.process import Process, start
from tests.support.remoting import Client, eventually, get_kv
from tests.support.soak_traffic import FakeBroker, look_up, operate, together
from tests.support.table_views import View, from_journal, over_remoting

BROKERS = 32
SETTINGS = {
    "routebook.journal.snapshotSeconds": 2,
    "routebook.journal.segmentMegabytes": 1,
    "routebook.recoveredLeaseSeconds": 4,
    "routebook.preservation.windowSeconds": 1,
    "scanNotActiveBrokerInterval": 200,
}


class RestartedServer:
    """A server on one home and port that is stopped or killed, and restarted."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.kills = self.stops = 0
        self.process = self._start()

    def _start(self, **settings: object) -> Process:
        given = {**SETTINGS, **{key.replace("_", "."): value for key, value in settings.items()}}
        process = start(self.home, listen=f"127.0.0.1:{self.port}", http="127.0.0.1:0", settings=given)
        process.wait_until_listening()
        return process

    def restart(self, how: signal.Signals, **settings: object) -> None:
        self.process.send(how)
        code = self.process.wait()
        if how is signal.SIGTERM:
            self.stops += 1
            assert code == 0, self.process.log
        else:
            self.kills += 1
        self.process = self._start(**settings)


async def play(server: RestartedServer, seconds: float, chance: random.Random) -> list[str]:
    ended, acknowledged = asyncio.Event(), list[str]()
    brokers = [FakeBroker(n, server.port, random.Random(chance.random())) for n in range(BROKERS)]

    async def disturb() -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0:
            await asyncio.sleep(min(left, chance.uniform(1, 6)))
            await asyncio.to_thread(server.restart, chance.choice([signal.SIGTERM, signal.SIGKILL]))
        await asyncio.sleep(2)
        ended.set()

    try:
        await together(
            disturb(),
            operate(server.port, random.Random(chance.random()), ended, acknowledged),
            look_up(server.port, random.Random(chance.random()), ended),
            *(broker.live(ended) for broker in brokers),
        )
        # no more faults: the brokers stay registered
        for broker in brokers:
            await broker.client.close()
        for broker in brokers[: BROKERS // 2]:
            await broker.settle()
        await asyncio.to_thread(agree, server)
    finally:
        for broker in brokers:
            await broker.client.close()
    return acknowledged


def agree(server: RestartedServer) -> None:
    """Journal, remoting and HTTP agree, also after a restart."""
    expected_view = settled(server)
    assert len(expected_view["topics"]) > 20
    with Client(("127.0.0.1", server.port)) as client:
        assert over_remoting(client) == expected_view
    assert over_http(server) == expected_view
    server.restart(signal.SIGKILL, routebook_recoveredLeaseSeconds=600)
    with Client(("127.0.0.1", server.port)) as client:
        assert over_remoting(client) == expected_view
    server.restart(signal.SIGTERM, routebook_recoveredLeaseSeconds=600)
    with Client(("127.0.0.1", server.port)) as client:
        assert over_remoting(client) == expected_view


def settled(server: RestartedServer) -> View:
    """The tables from the journal, once expired brokers are removed and the journal is complete."""
    expected_view: View = {}

    def is_settled() -> bool:
        nonlocal expected_view
        answered = over_remoting(client)
        if sum(len(addrs) for _, addrs in answered["groups"].values()) != BROKERS // 2:
            return False
        fold, _, _ = fold_journal(FolderFiles(server.home / "journal"))
        expected_view = from_journal(fold)
        return expected_view == answered

    with Client(("127.0.0.1", server.port)) as client:
        eventually(is_settled, "the journal and the server to agree")
    return expected_view


def over_http(server: RestartedServer) -> View:
    """The same from the HTTP API."""
    base = server.process.wait_until_http()

    def get(path: str) -> Any:
        with urllib.request.urlopen(base + path, timeout=20) as answer:
            return json.load(answer)

    groups = {
        group["name"]: (group["cluster"], {member["broker_id"]: member["addr"] for member in group["members"]})
        for group in get("/v1/brokers?limit=1000")["groups"]
    }
    topics = {
        topic["name"]: {
            queues["broker"]: (
                queues["perm"],
                queues["read_queues"],
                queues["write_queues"],
                queues["system_flag"],
            )
            for queues in get(f"/v1/routes/{topic['name']}")["route"]["queues"]
        }
        for topic in get("/v1/topics?limit=1000")["topics"]
    }
    return {"topics": topics, "groups": groups}


@pytest.mark.slow
def test_tables_journal_and_api_agree_after_faults_and_restarts(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    seconds, seed = pytestconfig.getoption("--soak-seconds"), random.randrange(1 << 32)
    server = RestartedServer(tmp_path)
    try:
        acknowledged = asyncio.run(play(server, seconds, random.Random(seed)))
        with Client(("127.0.0.1", server.port)) as client:
            known = int(client.ask(get_kv("number")).ext["value"])
        assert known >= int(acknowledged[-1])
        assert server.process.stop() == 0
    except BaseException as error:
        error.add_note(f"seed {seed}; the last server said:\n{server.process.log[-4000:]}")
        raise
    finally:
        server.process.kill()
    assert server.kills
    assert not [hole for hole in events(tmp_path, JournalHole) if hole.certain]
    assert not verify(FolderFiles(tmp_path / "journal")).damage
    assert any(started.recovered for started in events(tmp_path, ServerStarted))
    journalled = {change.after for change in events(tmp_path, KvChanged)}
    assert journalled >= set(acknowledged), "what was acknowledged is in the journal"
