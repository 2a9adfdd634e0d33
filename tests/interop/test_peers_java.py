"""A Java NameServer as a peer: differences are found with 106, 206 and 105."""

from pathlib import Path

import pytest

from routebook.client.client import NameServerClient
from routebook.disagreements import Kind
from routebook.peers.monitor import Peers
from routebook.routes import RouteTable
from tests.support.asynchronous import asynchronous
from tests.support.java import java_nameserver
from tests.support.route_tables import config, queue, register, registration


@pytest.mark.java
@asynchronous
async def test_differences_from_a_java_peer_are_found_and_cleared(tmp_path: Path) -> None:
    ours = RouteTable()
    with java_nameserver(tmp_path) as (host, port):
        address = f"{host}:{port}"
        events: list[object] = []
        now = 0
        peers = Peers([address], ours, interval_s=60, diverged_s=100, now_ms=lambda: now, on_events=events.extend)
        async with NameServerClient(address) as broker:
            what = registration("broker-a", topics=[config("T"), config("U", read=4), config("é/%")], zone="z")
            await broker.register_broker(what)
            register(ours, what)
            await peers.round()
            (status,) = peers.report()
            assert (status.state, status.by, status.differences) == ("agrees", "sample", [])
            ours.register_topic("U", [queue("broker-a", read=5)])
            ours.wipe_write("broker-a")
            await peers.round()
            (status,) = peers.report()
            assert {(one.kind, tuple(one.topics)) for one in status.differences} == {
                (Kind.QUEUES, ("U",)),
                (Kind.PERMISSION, ("T", "U", "é/%")),
            }
            now = 200_000
            await peers.round()
            assert len(events) == 1
            ours.restore_write("broker-a")
            ours.register_topic("U", [queue("broker-a", read=4)])
            await peers.round()
            assert peers.report()[0].state == "agrees"
            assert len(events) == 2
        await peers.stop()
