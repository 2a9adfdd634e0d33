"""The etcd log against real etcd members: leadership, fencing, failover, what followers see."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from routebook.controller.state import BrokerSet, IdApplied, MasterElected, ReplicasRemoved, apply
from routebook.server.controller.etcd_log import EtcdLog
from routebook.server.controller.log import LogListener, Node, NotLeader
from tests.support.etcd import Cluster, etcd_cluster

DEADLINE_S = 30.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd"), 1) as running:
        yield running


class Peer:
    """A controller node reduced to its log and the state that the log reports."""

    def __init__(self, cluster: Cluster, number: int, prefix: str) -> None:
        self.node = Node(f"n{number}", f"127.0.0.1:{9000 + number}")
        self.log = EtcdLog(cluster.endpoints, self.node, prefix=prefix)
        self.sets: dict[str, BrokerSet] = {}
        self.leading: list[bool] = []

    async def start(self) -> None:
        await self.log.start(LogListener(self._take_all, self._take, self.leading.append))

    def _take_all(self, sets: Any) -> None:
        self.sets = dict(sets)

    def _take(self, name: str, state: BrokerSet | None) -> None:
        if state is None:
            self.sets.pop(name, None)
        else:
            self.sets[name] = state

    async def commit(self, event: Any) -> None:
        state = apply(self.sets.get(event.broker), event)
        await self.log.commit(event, state)
        self._take(event.broker, state)


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.02)


def run(body: Callable[[list[Peer]], Awaitable[None]], cluster: Cluster, prefix: str, count: int = 2) -> None:
    async def main() -> None:
        peers = [Peer(cluster, number, prefix) for number in range(count)]
        try:
            await body(peers)
        finally:
            for peer in peers:
                await peer.log.stop()

    asyncio.run(main())


def applied(name: str, number: int = 1) -> IdApplied:
    return IdApplied("C", name, number, "10.0.0.1:1", "10.0.0.1:1;7")


def test_one_node_leads_and_the_other_follows(cluster: Cluster) -> None:
    async def body(peers: list[Peer]) -> None:
        first, second = peers
        await first.start()
        await until(lambda: first.log.is_leader and first.leading == [True])
        await second.start()
        await until(lambda: second.log.leader == first.node)
        assert not second.log.is_leader
        await first.commit(applied("b-a"))
        await first.commit(MasterElected("b-a", 1))
        await until(lambda: second.sets.get("b-a") == first.sets["b-a"])
        with pytest.raises(NotLeader):
            await second.commit(applied("b-x"))
        await first.commit(ReplicasRemoved("b-a", None))
        await until(lambda: second.sets == {})
        await first.commit(applied("b-a"))
        await until(lambda: second.sets == first.sets)

    run(body, cluster, "/t1")


def test_a_clean_stop_hands_leadership_over(cluster: Cluster) -> None:
    async def body(peers: list[Peer]) -> None:
        first, second = peers
        await first.start()
        await until(lambda: first.leading == [True])
        await first.commit(applied("b-a"))
        await second.start()
        await until(lambda: second.log.leader == first.node)
        await first.log.stop()
        assert first.leading == [True, False]
        await until(lambda: second.leading == [True])
        assert second.sets == first.sets
        await second.commit(MasterElected("b-a", 1))

    run(body, cluster, "/t2")


def test_a_leader_that_lost_its_lease_cannot_commit(cluster: Cluster) -> None:
    """A leader that was paused and believes that it still leads: its commits are fenced."""

    async def body(peers: list[Peer]) -> None:
        first, second = peers
        await first.start()
        await until(lambda: first.leading == [True])
        await second.start()
        await until(lambda: second.log.leader == first.node)
        created = first.log._created
        for task in first.log._tasks:  # it neither renews nor learns what happens
            task.cancel()
        first.log._renewed_at = float("inf")  # and its clock stands still: it believes that it leads
        await until(lambda: second.leading == [True])
        first.log._created = created
        with pytest.raises(NotLeader):
            await first.log.commit(applied("b-a"), apply(None, applied("b-a")))
        assert second.sets == {}

    run(body, cluster, "/t3")


def test_a_leader_without_etcd_stops_leading_before_its_lease_ends(tmp_path: Path) -> None:
    with etcd_cluster(tmp_path, 1) as own:

        async def body(peers: list[Peer]) -> None:
            (only,) = peers
            await only.start()
            await until(lambda: only.leading == [True])
            await only.commit(applied("b-a"))
            own.members[0].kill()
            await until(lambda: not only.log.is_leader)
            assert only.log.leader is None
            await until(lambda: only.log.problem is not None)
            own.restart(own.members[0])
            await until(lambda: only.log.is_leader and only.leading[-1])
            assert list(only.sets) == ["b-a"]
            await only.commit(MasterElected("b-a", 1))

        run(body, own, "/t4", count=1)
