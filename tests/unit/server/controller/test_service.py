"""The Controller's service on a real SQLite log: commits, elections on loss, notifications, config over the wire."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from routebook.controller.codes import ControllerRequest, ControllerResponse
from routebook.controller.record import Committed
from routebook.controller.state import MasterElected, MasterLost
from routebook.controller_events import ElectionCause
from routebook.server.controller.config import ControllerConfig
from routebook.server.controller.log import Node
from routebook.server.controller.service import ControllerService
from routebook.server.controller.sqlite_log import SqliteLog
from routebook.wire.command import Command, Reply

GIVEN = {
    "controllerDLegerGroup": "g1",
    "controllerDLegerPeers": "n0-127.0.0.1:23510",
    "controllerDLegerSelfId": "n0",
}


class Bench:
    """A service with a clock that tests turn, and records of what it sent."""

    def __init__(self, folder: Path) -> None:
        self.now_ms = 1_000_000
        self.sent: list[tuple[str, Reply]] = []
        self.closed: list[int] = []
        self.committed: list[Committed] = []
        self.service = ControllerService(
            ControllerConfig(GIVEN),
            SqliteLog(folder, Node("n0", "127.0.0.1:23510")),
            now_ms=lambda: self.now_ms,
            notify=lambda _name, address, change: self.sent.append((address, change)),
            close=self.closed.append,
            on_committed=self.committed.append,
        )

    async def ask(self, code: int, connection: int = 1, body: bytes | None = None, **ext: str) -> Reply:
        answer = self.service.answer(Command(code, 1, ext=dict(ext), body=body), connection)
        return answer if isinstance(answer, Reply) else await answer

    async def join(self, number: int, name: str = "b-a") -> None:
        code = ControllerRequest.CONTROLLER_APPLY_BROKER_ID
        check = f"10.0.0.{number}:1;7"
        reply = await self.ask(
            code, clusterName="C", brokerName=name, appliedBrokerId=str(number), registerCheckCode=check
        )
        assert reply.code == 0, reply

    async def beat(self, number: int, name: str = "b-a") -> None:
        await self.ask(904, number, clusterName="C", brokerName=name, brokerId=str(number), brokerAddr="x")

    async def settled(self) -> None:
        """Until no election is under way."""
        elections = [task for task in self.service._tasks if task.get_name() != "scan"]
        await asyncio.gather(*elections)


def run(folder: Path, body: Callable[[Bench], Awaitable[None]]) -> None:
    async def main() -> None:
        bench = Bench(folder)
        await bench.service.start()
        try:
            await body(bench)
        finally:
            await bench.service.stop()

    asyncio.run(main())


async def in_sync_pair(bench: Bench) -> None:
    """Broker 1 is master, 1 and 2 are in sync."""
    for number in (1, 2):
        await bench.join(number)
        await bench.beat(number)
    elected = await bench.ask(1002, brokerName="b-a", clusterName="C", brokerId="1")
    assert elected.code == 0
    body = b'{"syncStateSet":[1,2],"syncStateSetEpoch":1}'
    altered = await bench.ask(1001, body=body, brokerName="b-a", masterBrokerId="1", masterEpoch="1")
    assert altered.code == 0


def test_a_lost_master_is_replaced_at_once(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await in_sync_pair(bench)
        bench.sent.clear()
        bench.service.connection_lost(1)
        await bench.settled()
        last = bench.committed[-1]
        assert last.event == MasterElected("b-a", 2)
        assert last.election is not None
        assert (last.election.cause, last.election.lost_ms) == (ElectionCause.CLOSED, bench.now_ms)
        assert [(one.id, one.alive) for one in last.election.candidates] == [(1, False), (2, True)]
        assert [address for address, _ in bench.sent] == ["10.0.0.2:1"]
        assert bench.sent[0][1].ext == {
            "masterAddress": "10.0.0.2:1",
            "masterBrokerId": "2",
            "syncStateSetEpoch": "3",
            "masterEpoch": "2",
        }

    run(tmp_path, body)


def test_the_last_broker_lost_leaves_no_master_and_one_higher_epoch(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await in_sync_pair(bench)
        bench.service.connection_lost(2)
        bench.service.connection_lost(1)
        await bench.settled()
        assert bench.committed[-1].event == MasterLost("b-a")
        state = bench.service.machine.sets["b-a"]
        assert (state.master_id, state.master_epoch) == (None, 2)

    run(tmp_path, body)


def test_state_survives_a_restart(tmp_path: Path) -> None:
    async def first(bench: Bench) -> None:
        await in_sync_pair(bench)

    async def second(bench: Bench) -> None:
        reply = await bench.ask(1004, brokerName="b-a")
        assert reply.ext == {"masterBrokerId": "1", "masterAddress": "10.0.0.1:1", "masterEpoch": "1"}

    run(tmp_path, first)
    run(tmp_path, second)


def test_an_answer_follows_its_commit(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        commit = bench.service.log.commit
        allowed = asyncio.Event()

        async def slow(event: Any, state: Any) -> None:
            await allowed.wait()
            await commit(event, state)

        bench.service.log.commit = slow  # type: ignore[method-assign]
        applying = asyncio.create_task(bench.join(1))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not applying.done()
        assert bench.service.machine.sets == {}, "the state changes after the commit"
        allowed.set()
        await applying
        assert list(bench.service.machine.sets) == ["b-a"]

    run(tmp_path, body)


def test_settings_over_the_wire(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        assert (await bench.ask(1009, body=b"enableElectUncleanMaster=true\n")).code == 0
        assert bench.service.config.live.allow_unclean
        refused = await bench.ask(1009, body=b"configStorePath=/x\n")
        assert (refused.code, refused.remark) == (16, "Can not update config in black list.")
        assert (await bench.ask(1009)).code == 0
        text = (await bench.ask(1010)).body or b""
        assert b"enableElectUncleanMaster=true\n" in text
        assert (await bench.ask(1007)).remark == " request type 1007 not supported"

    run(tmp_path, body)


def test_metadata_names_this_node_as_leader(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        assert (await bench.ask(1005)).ext == {
            "controllerLeaderId": "n0",
            "controllerLeaderAddress": "127.0.0.1:23510",
            "isLeader": "true",
            "peers": "n0:127.0.0.1:23510;",
            "group": "g1",
        }

    run(tmp_path, body)


def test_after_the_log_is_closed_leader_codes_are_rejected(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.service.log.stop()
        refused = await bench.ask(1012, clusterName="C", brokerName="b-a")
        assert refused.code == ControllerResponse.NOT_LEADER

    run(tmp_path, body)


def test_sets_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        commit = bench.service.log.commit
        allowed = asyncio.Event()

        async def slow(event: Any, state: Any) -> None:
            if event.broker == "slow":
                await allowed.wait()
            await commit(event, state)

        bench.service.log.commit = slow  # type: ignore[method-assign]
        first = asyncio.create_task(bench.join(1, "slow"))
        await asyncio.sleep(0)
        reading = asyncio.create_task(bench.ask(1012, clusterName="C", brokerName="slow"))
        await bench.join(1, "fast")
        assert not first.done()
        assert not reading.done(), "a read waits for earlier decisions about its set"
        allowed.set()
        await first
        assert (await reading).ext == {"clusterName": "C", "nextBrokerId": "2", "brokerName": "slow"}
        assert not bench.service._locks, "a lock exists while it is needed"

    run(tmp_path, body)


def test_an_expired_broker_does_not_close_the_connection_of_another(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        for connection, number, timeout in ((7, "1", "100000"), (7, "2", "1000"), (8, "3", "1000")):
            await bench.ask(
                904, connection, clusterName="C", brokerName="b-a", brokerId=number, heartbeatTimeoutMills=timeout
            )
        bench.now_ms += 5000
        bench.service._expire_brokers()
        assert bench.closed == [8]
        bench.now_ms += 100_000
        bench.service._expire_brokers()
        assert bench.closed == [8, 7]

    run(tmp_path, body)


def test_a_controller_that_was_stopped_does_not_take_brokers_for_dead(tmp_path: Path) -> None:
    """Their heartbeats are in the socket buffers; the first thing that it does may be a scan, or an answer."""

    async def main(bench: Bench) -> None:
        await in_sync_pair(bench)
        for look in (bench.service._expire_brokers, bench.service._now):
            bench.now_ms += 11_000
            bench.service._ran_at -= 11
            look()
            assert bench.service.machine.sets_with_dead_master(bench.now_ms) == []
            assert len(bench.service.machine.live) == 2
        bench.now_ms += 12_000  # the stalls above lasted a little longer than 11 s
        await bench.beat(2)
        bench.service._expire_brokers()
        await bench.settled()
        assert bench.service.machine.sets["b-a"].master_id == 2

    run(tmp_path, main)
