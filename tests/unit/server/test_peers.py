"""Peer comparison of a server: events and health."""

import asyncio
import time
from pathlib import Path

from routebook.client.client import NameServerClient
from routebook.events import PeerDiverged
from routebook.handlers import Outcome
from routebook.model import BrokerKey, RoutePolicy
from routebook.peers.witness import FILE_NAME, decode_witness
from routebook.server.observe.health import Condition
from routebook.server.peers import SilenceQuestion, open_peers, peers_health
from tests.support.asynchronous import asynchronous
from tests.support.command_line import routebook
from tests.support.in_process_server import connected, running, serving_http, until
from tests.support.journals import events
from tests.support.remoting import put_kv
from tests.support.route_tables import registration


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


@asynchronous
async def test_a_peer_is_a_witness_of_the_journal(tmp_path: Path) -> None:
    """Truncation of the end and a rewritten journal show against the heads that a peer stored."""
    first, second = tmp_path / "1", tmp_path / "2"
    async with running(first) as watched, serving_http(watched) as http, connected(watched) as client:
        assert (await client.ask(put_kv("k", "v"))).code == 0
        peers = f"{watched.address}/{http.rpartition(':')[2]}"
        async with (
            running(second, routebook_peers=peers, routebook_peers_intervalSeconds=1) as witness,
            serving_http(witness) as url,
        ):
            await until((second / FILE_NAME).exists, "the heads are stored")
            verify = ("journal", "verify", "--home", str(first), "--witness", f"http://{url}")
            by_http = await asyncio.to_thread(routebook, *verify)
            assert (by_http.code, ", 1 heads compared" in by_http.out) == (0, True), by_http
    seen = decode_witness((second / FILE_NAME).read_bytes())
    assert [head.chain.ns for head in seen.heads] == [watched.persistence.ns]
    verify = ("journal", "verify", "--home", str(first), "--witness", str(second))
    assert routebook(*verify).code == 0
    (segment,) = (first / "journal").glob("*.jsonl*")
    lines = segment.read_text().splitlines(keepends=True)
    segment.write_text(lines[0])
    ran = routebook(*verify)
    assert ran.code == 1
    assert "the end is missing: another NameServer has seen it" in ran.out
    segment.write_text("".join(lines).replace('"after":"v"', '"after":"x"'))
    ran = routebook(*verify)
    assert ran.code == 1
    assert "another NameServer has seen another hash" in ran.out


@asynchronous
async def test_a_diverged_peer_is_recorded_and_degrades_health(tmp_path: Path) -> None:
    async with running(tmp_path / "1") as other:
        async with (
            running(tmp_path / "2", routebook_peers=other.address, routebook_peers_divergedSeconds=0) as server,
            NameServerClient(server.address) as client,
        ):
            settings = server.nameserver.settings
            peers = open_peers(settings, server.nameserver.routes, server.recorder, now_ms=_wall_ms, wall_ms=_wall_ms)
            assert peers is not None
            await peers.round()
            assert peers_health(peers).condition is Condition.OK
            await client.register_broker(registration(topics=["T", "U"]))
            await peers.round()
            part = peers_health(peers)
            assert part.condition is Condition.DEGRADED
            assert other.address in part.says
            assert (part.facts["diverged"], part.facts["agrees"]) == (1, 0)
            await peers.stop()
        assert (
            open_peers(
                other.nameserver.settings, other.nameserver.routes, other.recorder, now_ms=_wall_ms, wall_ms=_wall_ms
            )
            is None
        )
    (diverged,) = events(tmp_path / "2", PeerDiverged)
    assert (diverged.peer, diverged.brokers) == (other.address, ("broker-a",))


@asynchronous
async def test_peers_are_asked_whether_they_hear_silent_brokers(tmp_path: Path) -> None:
    what = registration(topics=["T", "U"])
    known, unknown = frozenset({what.key}), frozenset({BrokerKey("c", "nowhere:1")})
    async with (
        running(tmp_path / "1") as other,
        serving_http(other) as http,
        NameServerClient(other.address) as client,
    ):
        await client.register_broker(what)
        for peer in (other.address, f"{other.address}/{http.rpartition(':')[2]}"):
            async with running(tmp_path / peer[-4:].strip("/:"), routebook_peers=peer) as server:
                ns = server.nameserver
                peers = open_peers(ns.settings, ns.routes, server.recorder, now_ms=_wall_ms, wall_ms=_wall_ms)
                assert peers is not None
                assert (await peers.ask(known), await peers.ask(unknown)) == ([True], [False])
                outcomes: list[Outcome] = []
                question = SilenceQuestion(peers, ns, outcomes.append, _wall_ms)
                assert ns.expiry_protection.asks_peers
                question.check()
                ns.expiry_protection.question = known
                question.check()
                await until(lambda found=outcomes: bool(found), "the peer answered")  # type: ignore[misc]
                assert not ns.expiry_protection.question
                await peers.stop()
    async with running(tmp_path / "3", routebook_peers=other.address) as server:
        ns = server.nameserver
        peers = open_peers(ns.settings, ns.routes, server.recorder, now_ms=_wall_ms, wall_ms=_wall_ms)
        assert peers is not None
        assert await peers.ask(known) == [], "a peer that does not answer"
        await peers.stop()


@asynchronous
async def test_a_broker_that_is_silent_at_a_routebook_is_not_heard(tmp_path: Path) -> None:
    what = registration(topics=["T", "U"])
    async with running(tmp_path / "1") as other, serving_http(other) as http:
        other.nameserver.routes.register(what, connection=1, now_ms=0, policy=RoutePolicy())
        peer = f"{other.address}/{http.rpartition(':')[2]}"
        async with running(tmp_path / "2", routebook_peers=peer) as server:
            ns = server.nameserver
            peers = open_peers(ns.settings, ns.routes, server.recorder, now_ms=_wall_ms, wall_ms=_wall_ms)
            assert peers is not None
            assert await peers.ask({what.key}) == [False]
            await peers.stop()
