"""The etcd log against real etcd members: leadership, fencing, failover, what followers see."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from routebook.controller.state import BrokerSet, IdApplied, MasterElected, ReplicasRemoved, apply
from routebook.server.controller.etcd_log import EtcdLog
from routebook.server.controller.etcd_messages import delete
from routebook.server.controller.log import LogError, LogListener, Node, NotLeader
from tests.support.etcd import Cluster, etcd_cluster

DEADLINE_S = 20.0


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


def replace(target: object, name: str, function: Callable[..., Any]) -> None:
    """Put a function in place of a method."""
    setattr(target, name, function)


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
        term, lease = first.log._leadership.term, first.log._leadership._lease
        for task in first.log._tasks:  # it neither renews nor learns what happens
            task.cancel()
        await asyncio.gather(*first.log._tasks, return_exceptions=True)
        await until(lambda: second.leading == [True])
        first.log._leadership.term, first.log._leadership._lease, first.log._is_loaded = term, lease, True
        first.log._leadership._renewed_at = float("inf")  # and its clock stands still: it believes that it leads
        with pytest.raises(NotLeader):
            await first.log.commit(applied("b-a"), apply(None, applied("b-a")))
        assert not first.log.is_leader
        assert second.sets == {}

    run(body, cluster, "/t3")


@pytest.mark.parametrize("is_executed", [True, False])
def test_a_commit_whose_answer_is_lost_is_sent_again_and_takes_effect_once(cluster: Cluster, is_executed: bool) -> None:
    async def body(peers: list[Peer]) -> None:
        (only,) = peers
        await only.start()
        await until(lambda: only.leading == [True])
        await only.commit(applied("b-a"))
        transaction, sent = only.log.client.transaction, []

        async def lossy(*arguments: Any) -> Any:
            sent.append(arguments)
            if len(sent) > 1:
                return await transaction(*arguments)
            if is_executed:
                await transaction(*arguments)
            raise LogError("the answer was lost")

        replace(only.log.client, "transaction", lossy)
        before, _ = await only.log.client.get(b"/t5/sets/b-a")
        await only.commit(MasterElected("b-a", 1))
        assert len(sent) == 2
        after, _ = await only.log.client.get(b"/t5/sets/b-a")
        assert before is not None
        assert after is not None
        assert after.mod_revision == before.mod_revision + 1, "one write"
        await only.commit(ReplicasRemoved("b-a", None))
        assert only.leading == [True], "it leads on"

    run(body, cluster, "/t5", count=1)


def test_a_commit_of_unknown_outcome_is_not_acknowledged_and_read_again(cluster: Cluster) -> None:
    async def body(peers: list[Peer]) -> None:
        (only,) = peers
        await only.start()
        await until(lambda: only.leading == [True])
        transaction = only.log.client.transaction

        async def lost(*arguments: Any) -> Any:
            await transaction(*arguments)
            only.log._leadership.resign()  # as if the lease could not be renewed either
            raise LogError("the answer was lost")

        replace(only.log.client, "transaction", lost)
        with pytest.raises(LogError):
            await only.commit(applied("b-a"))
        assert not only.log.is_leader
        replace(only.log.client, "transaction", transaction)
        await until(lambda: only.leading == [True, False, True])
        assert list(only.sets) == ["b-a"], "it was committed, which the new term has read"
        await only.commit(MasterElected("b-a", 1))

    run(body, cluster, "/t6", count=1)


def test_a_late_answer_does_not_replace_a_newer_state(cluster: Cluster) -> None:
    async def body(peers: list[Peer]) -> None:
        first, second = peers
        await first.start()
        await until(lambda: first.leading == [True])
        transaction, answered = first.log.client.transaction, asyncio.Event()

        async def late(*arguments: Any) -> Any:
            answer = await transaction(*arguments)
            await answered.wait()
            return answer

        replace(first.log.client, "transaction", late)
        committing = asyncio.create_task(first.log.commit(applied("b-a"), apply(None, applied("b-a"))))
        await until(lambda: "b-a" in first.sets)  # by the watch
        await second.start()
        await until(lambda: "b-a" in second.sets)
        first.log._leadership.resign()
        await until(lambda: second.leading == [True])
        await second.commit(MasterElected("b-a", 1))
        await until(lambda: first.sets == second.sets)
        answered.set()
        await committing
        assert first.sets == second.sets

    run(body, cluster, "/t7")


def test_a_node_answers_as_leader_only_after_it_has_read_everything(cluster: Cluster) -> None:
    async def body(peers: list[Peer]) -> None:
        (only,) = peers
        load, allowed = only.log.client.load, asyncio.Event()

        async def slow(prefix: bytes) -> Any:
            await allowed.wait()
            return await load(prefix)

        replace(only.log.client, "load", slow)
        await only.start()
        await until(lambda: only.log._leadership.is_held)
        assert not only.log.is_leader
        assert only.log.leader is None
        with pytest.raises(NotLeader):
            await only.commit(applied("b-a"))
        allowed.set()
        await until(lambda: only.leading == [True] and only.log.is_leader)

    run(body, cluster, "/t8", count=1)


def test_a_leader_whose_key_is_deleted_steps_down_and_leads_again(cluster: Cluster) -> None:
    async def body(peers: list[Peer]) -> None:
        (only,) = peers
        await only.start()
        await until(lambda: only.leading == [True])
        await only.log.confirm()
        await only.log.client.transaction([], [delete(b"/t9/leader")])
        await until(lambda: only.leading == [True, False, True])
        await only.commit(applied("b-a"))

    run(body, cluster, "/t9", count=1)


def test_linearizable_reads_notice_a_lost_key_at_once(cluster: Cluster) -> None:
    async def body(peers: list[Peer]) -> None:
        (only,) = peers
        await only.start()
        await until(lambda: only.leading == [True])
        for task in only.log._tasks[:1]:  # no watch
            task.cancel()
        await only.log.client.transaction([], [delete(b"/t10/leader")])
        with pytest.raises(NotLeader):
            await only.log.confirm()

    run(body, cluster, "/t10", count=1)


def test_a_follower_continues_after_a_compaction(cluster: Cluster) -> None:
    async def body(peers: list[Peer]) -> None:
        first, second = peers
        await first.start()
        await until(lambda: first.leading == [True])
        await second.start()
        await until(lambda: second.log.leader == first.node)
        watch, sent = second.log.client.watch, []

        def interrupted(prefix: bytes, *, from_revision: int) -> Any:
            sent.append(from_revision)
            return watch(prefix, from_revision=1 if len(sent) == 1 else from_revision)  # long compacted

        await first.commit(applied("b-a"))
        _, revision = await first.log.client.get(b"/")
        await first.log.client._call("/v3/kv/compaction", {"revision": revision, "physical": True}, dict)
        replace(second.log.client, "watch", interrupted)
        second.log._tasks[0].cancel()
        second.log._tasks[0] = asyncio.create_task(second.log._follow())
        await until(lambda: len(sent) == 2)
        await first.commit(MasterElected("b-a", 1))
        await until(lambda: second.sets == first.sets)

    run(body, cluster, "/t11")


def test_a_member_that_hangs_does_not_end_leadership(cluster: Cluster) -> None:
    """The first endpoint accepts connections and never answers, as a stopped process does."""

    async def body(_peers: list[Peer]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            hanging = f"http://127.0.0.1:{silent.getsockname()[1]}"
            peer = Peer(cluster, 0, "/t12")
            peer.log = EtcdLog([hanging, *cluster.endpoints], peer.node, prefix="/t12")
            await peer.start()
            try:
                await until(lambda: peer.leading == [True])
                client = peer.log.client
                for number in range(1, 4):
                    client._endpoints.sort(key=lambda endpoint: endpoint != hanging)  # preferred again
                    await peer.commit(applied("b-a", number))
                    assert peer.log.is_leader
                assert peer.leading == [True]
                assert client.problems[hanging, "slow"] >= 3
            finally:
                await peer.log.stop()

    run(body, cluster, "/t12", count=0)


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
