"""Peer comparison of a server: events and health."""

import time
from pathlib import Path

from routebook.client.client import NameServerClient
from routebook.events import PeerDiverged
from routebook.server.observe.health import Condition
from routebook.server.peers import open_peers, peers_health
from tests.support.asynchronous import asynchronous
from tests.support.in_process_server import running
from tests.support.journals import events
from tests.support.route_tables import registration


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


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
