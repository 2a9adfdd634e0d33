"""Peer comparison of a server: events and health."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from routebook.client.client import NameServerClient
from routebook.events import PeerDiverged
from routebook.kv import KvStore
from routebook.server.observe.health import Condition
from routebook.server.peers import open_peers, peers_health
from routebook.server.server import Server
from routebook.server.state.home import Home
from routebook.settings import Settings, from_values
from tests.support.asynchronous import asynchronous
from tests.support.journals import events
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
async def test_a_diverged_peer_is_recorded_and_degrades_health(tmp_path: Path) -> None:
    async with serving(tmp_path / "1") as other:
        peers_setting = {"routebook.peers": other.address, "routebook.peers.divergedSeconds": "0"}
        async with serving(tmp_path / "2", **peers_setting) as server, NameServerClient(server.address) as client:
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
