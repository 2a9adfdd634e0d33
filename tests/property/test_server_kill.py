"""kill -9 of a whole server, dozens of times on one home: it knows what its journal tells, and what it acknowledged."""

import random
import threading
from itertools import count
from pathlib import Path

import pytest

from routebook.events import KvChanged
from routebook.journal.files import FolderFiles
from tests.support.core_client import register_body
from tests.support.journals import records
from tests.support.naive_fold import fold_journal
from tests.support.process import serving
from tests.support.remoting import Client, put_kv
from tests.support.remoting_frames import Reply, Request
from tests.support.table_views import from_journal, over_remoting

KILLS = 24
BROKERS = 6
TOPICS = [f"topic-{n}" for n in range(12)]


class Traffic:
    """Brokers that register with ever new versions, and an operator who changes things."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.numbers = count(1)
        self.acknowledged: list[str] = []  # who changed the KV store, each time

    def run(self, address: tuple[str, int]) -> None:
        """Until nobody answers any more."""
        clients: list[Client] = []
        try:
            for _ in range(3):
                clients.append(Client(address))  # noqa: PERF401 - each is to be closed, even if the next cannot connect
            while True:
                client, request = self.chance.choice(clients), self.request()
                client.send(request.encode())
                raw = client.receive()
                if raw is None:
                    return
                if request.code == 100 and Reply.parse(raw).code == 0:
                    host, port = client.socket.getsockname()
                    self.acknowledged.append(f"{host}:{port}")
        except OSError:
            return
        finally:
            for client in clients:
                client.close()

    def request(self) -> Request:
        number = next(self.numbers)
        broker = self.chance.randrange(BROKERS)
        match self.chance.randrange(8):
            case 0:
                return put_kv("number", str(number))  # always another value, so always an event
            case 1:
                return Request(code=self.chance.choice([205, 327]), ext={"brokerName": f"b{broker}"})
            case 2:
                return Request(code=216, ext={"topic": self.chance.choice(TOPICS)})
            case _:
                topics = [f"b{broker}", *self.chance.sample(TOPICS, self.chance.randint(1, len(TOPICS)))]
                ext = {
                    "clusterName": "c",
                    "brokerName": f"b{broker}",
                    "brokerAddr": f"10.0.0.{broker}:{self.chance.choice([1, 1, 2])}",
                    "brokerId": "0",
                    "haServerAddr": "h",
                }
                return Request(code=103, ext=ext, body=register_body(*topics, counter=number))


@pytest.mark.slow
def test_a_killed_server_knows_what_its_journal_tells(tmp_path: Path) -> None:
    chance, traffic = random.Random(22), Traffic(23)
    known = 0
    for _ in range(KILLS):
        with serving(tmp_path, settings={"routebook.journal.snapshotSeconds": 1}) as ns:
            fold, _, holes = fold_journal(FolderFiles(tmp_path / "journal"))
            assert not [hole for hole in holes if hole.certain]
            with Client(ns.address) as client:
                answered = over_remoting(client)
            assert answered == from_journal(fold)
            known += len(answered["topics"])
            # some live long enough for a snapshot
            lives_s = chance.uniform(0.02, 0.5) + chance.choice([0, 0, 1.2])
            killer = threading.Timer(lives_s, ns.kill)
            killer.start()
            traffic.run(ns.address)
            killer.join()
    assert known > KILLS, "there was something to know"

    with serving(tmp_path) as ns:
        assert ns.stop() == 0
    recorded = [record.event.peer for record in records(tmp_path) if isinstance(record.event, KvChanged)]
    assert len(traffic.acknowledged) > KILLS, "the operator was busy"
    for peer in set(traffic.acknowledged):
        assert recorded.count(peer) >= traffic.acknowledged.count(peer), "what was acknowledged is on disk"
