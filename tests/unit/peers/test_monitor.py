"""Peer comparison with a real NameServer over TCP and a real HTTP port that serves digests."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from routebook.disagreements import Kind
from routebook.events import PeerAgreed, PeerDiverged
from routebook.kv import KvStore
from routebook.peers import compare_round
from routebook.peers.digest import take_buckets, take_digest
from routebook.peers.monitor import Peers, PeerStatus
from routebook.routes import RouteTable
from routebook.server.server import Server
from routebook.settings import Settings, from_values
from tests.support.asynchronous import asynchronous
from tests.support.route_tables import queue, register, registration

TOPICS = [f"topic-{n}" for n in range(120)]


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def now_ms(self) -> int:
        return self.now


@asynccontextmanager
async def nameserver(tmp_path: Path) -> AsyncIterator[Server]:
    settings = Settings.build([from_values({"listenPort": "0"})], home=str(tmp_path))
    server = Server.open(settings, kv=KvStore())
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


class Monitor:
    """Peers that are compared when the test calls `round`."""

    def __init__(self, routes: RouteTable, *peers: str) -> None:
        self.clock = Clock()
        self.events: list[PeerDiverged | PeerAgreed] = []
        self.peers = Peers(
            peers, routes, interval_s=60, diverged_s=120, now_ms=self.clock.now_ms, on_events=self.events.extend
        )

    async def round(self, *, after_s: int = 0) -> PeerStatus:
        self.clock.now += after_s * 1000
        await self.peers.round()
        (status,) = self.peers.report()
        return status


def fill(table: RouteTable, *brokers: str, topics: Sequence[str] = TOPICS) -> None:
    for broker in brokers:
        register(table, registration(broker, addr=f"{broker}:10911", topics=topics), connection=-1)


@asynchronous
async def test_a_nameserver_without_an_http_port_is_sampled(tmp_path: Path) -> None:
    async with nameserver(tmp_path) as server:
        ours, theirs = RouteTable(), server.nameserver.routes
        for table in (ours, theirs):
            fill(table, "a", "b")
        monitor = Monitor(ours, server.address)
        assert monitor.peers.report()[0].state == "unknown"
        status = await monitor.round()
        assert (status.state, status.by, status.requests, status.problem) == ("agrees", "sample", 52, None)
        fill(ours, "c")
        status = await monitor.round()
        assert (status.state, status.total, status.lasting) == ("differs", 1, 0)
        assert status.differences[0].kind is Kind.BROKER
        assert status.differences[0].missing_at == [server.address]
        status = await monitor.round(after_s=120)
        assert (status.state, status.lasting) == ("diverged", 1)
        assert monitor.events == [PeerDiverged(peer=server.address, since_ms=1_000_000, differences=1, brokers=("c",))]
        fill(theirs, "c")
        status = await monitor.round(after_s=60)
        assert (status.state, status.since_ms) == ("agrees", None)
        assert monitor.events[1:] == [PeerAgreed(peer=server.address, diverged_ms=180_000)]
        await monitor.peers.stop()


@asynchronous
async def test_the_sample_rotates_and_differing_topics_are_compared_again(tmp_path: Path) -> None:
    async with nameserver(tmp_path) as server:
        ours, theirs = RouteTable(), server.nameserver.routes
        for table in (ours, theirs):
            fill(table, "a")
        theirs.register_topic(sorted(TOPICS)[110], [queue("a", read=9)])
        monitor = Monitor(ours, server.address)
        assert [(await monitor.round()).state for _ in range(4)] == ["agrees", "agrees", "differs", "differs"]
        theirs.register_topic(sorted(TOPICS)[110], [queue("a")])
        assert (await monitor.round()).state == "agrees"
        theirs.register_topic("only-there", [queue("a")])
        status = await monitor.round()
        assert [(one.kind, one.topics) for one in status.differences] == [(Kind.TOPIC, ["only-there"])]
        await monitor.peers.stop()


@asynchronous
async def test_an_unreachable_peer_keeps_its_last_differences(tmp_path: Path) -> None:
    async with nameserver(tmp_path) as server:
        ours = RouteTable()
        fill(ours, "a")
        monitor = Monitor(ours, server.address)
        assert (await monitor.round()).state == "differs"
    status = await monitor.round(after_s=60)
    assert (status.state, status.since_ms, status.checked_ms) == ("unreachable", 1_060_000, 1_000_000)
    assert (status.failures, status.rounds, status.total) == (1, 2, 1)
    assert status.problem is not None
    assert server.address in status.problem
    assert monitor.events == []
    await monitor.peers.stop()


@contextmanager
def digest_port(table: RouteTable, asked: list[str]) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            last = self.path.rpartition("/")[2]
            numbers = {int(number) for number in last.split(",")} if last != "digest" else set()
            steps = take_buckets(table, numbers, slice_size=9) if numbers else take_digest(table, slice_size=9)
            body = next(msgspec.json.encode(found) for found in steps if found is not None)
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@asynchronous
async def test_two_routebooks_compare_digests(tmp_path: Path) -> None:
    asked: list[str] = []
    async with nameserver(tmp_path) as server:
        ours, theirs = RouteTable(), server.nameserver.routes
        for table in (ours, theirs):
            fill(table, "a", "b")
        with digest_port(theirs, asked) as port:
            monitor = Monitor(ours, f"{server.address}/{port}")
            status = await monitor.round()
            assert (status.state, status.by, status.requests) == ("agrees", "digest", 1)
            theirs.register_topic("topic-7", [queue("b", read=9)])
            ours.register_topic("topic-7", [queue("a", read=3)])
            status = await monitor.round()
            assert (status.by, status.requests, status.total) == ("digest", 4, 2)
            assert {(one.kind, one.subject) for one in status.differences} == {
                (Kind.QUEUES, "a"),
                (Kind.QUEUES, "b"),
            }
            fill(ours, "c")
            status = await monitor.round()
            assert Kind.BROKER in {one.kind for one in status.differences}
            theirs.register_topic("topic-7", [queue("a", read=3)])
            ours.register_topic("topic-7", [queue("b", read=9)])
            fill(theirs, "c")
            assert (await monitor.round()).state == "agrees"
        await monitor.peers.stop()


@asynchronous
async def test_every_difference_is_counted_in_one_round(tmp_path: Path) -> None:
    asked: list[str] = []
    async with nameserver(tmp_path) as server:
        ours, theirs = RouteTable(), server.nameserver.routes
        for table in (ours, theirs):
            fill(table, "a", "b")
        for topic in TOPICS[:71]:
            theirs.register_topic(topic, [queue("b", read=9)])
        with digest_port(theirs, asked) as port:
            monitor = Monitor(ours, f"{server.address}/{port}")
            status = await monitor.round()
        assert (status.total, status.groups, len(status.differences)) == (71, 1, 1)
        assert len(asked) == 2
        await monitor.peers.stop()


@asynchronous
async def test_more_differences_than_a_round_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_round, "MAX_TOPICS", 30)
    async with nameserver(tmp_path) as server:
        ours, theirs = RouteTable(), server.nameserver.routes
        for table in (ours, theirs):
            fill(table, "a", "b")
        for topic in TOPICS[:71]:
            theirs.register_topic(topic, [queue("b", read=9)])
        with digest_port(theirs, []) as port:
            monitor = Monitor(ours, f"{server.address}/{port}")
            assert [(await monitor.round()).total for _ in range(4)] == [30, 60, 71, 71]
        await monitor.peers.stop()


@asynchronous
async def test_a_routebook_whose_http_port_fails_is_sampled(tmp_path: Path) -> None:
    with digest_port(RouteTable(), []) as port:
        pass  # closed again
    async with nameserver(tmp_path) as server:
        monitor = Monitor(RouteTable(), f"{server.address}/{port}")
        status = await monitor.round()
        assert (status.state, status.by) == ("agrees", "sample")
        assert status.problem is not None
        assert status.problem.startswith("/v1/digest: ")
        assert f":{port}: " in status.problem
        await monitor.peers.stop()


@asynchronous
async def test_started_peers_compare_periodically(tmp_path: Path) -> None:
    async with nameserver(tmp_path) as server:
        diverged: asyncio.Event = asyncio.Event()
        ours = RouteTable()
        fill(ours, "a")
        peers = Peers(
            [server.address], ours, interval_s=0.01, diverged_s=0.05, now_ms=_now_ms, on_events=lambda _: diverged.set()
        )
        peers.start()
        await diverged.wait()
        assert peers.report()[0].state == "diverged"
        await peers.stop()


def _now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)
