"""The journal of a Controller node: what a service on a real SQLite log records, with causes, callers and times."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from routebook.controller.record import Origin
from routebook.controller_events import (
    BrokerIdAssigned,
    BrokerSetState,
    Candidate,
    ControllerEvent,
    ControllerLeader,
    ElectionCause,
    MasterElected,
    NoMasterElected,
    ReplicaMoved,
    ReplicasCleaned,
    RoleNotified,
    SyncStateChanged,
)
from routebook.journal.record import Record
from routebook.server.clock import Clock
from routebook.server.controller.config import ControllerConfig
from routebook.server.controller.journal import ControllerJournal
from routebook.server.controller.log import Node
from routebook.server.controller.service import ControllerService
from routebook.server.controller.sqlite_log import SqliteLog
from routebook.server.observe.event_log import EventLog
from routebook.server.state.recorder import Recorder
from routebook.wire.command import Command, Reply
from tests.unit.server.controller.test_service import GIVEN

PEER = Origin("10.0.0.9:5000", "admin", 1002)


class Bench:
    """A service whose journal is a list of events."""

    def __init__(self, folder: Path) -> None:
        self.records: list[Record] = []
        self.clock = Clock()
        recorder = Recorder(event_log=EventLog(time.monotonic), ns="n", boot="b", publish=self.records.append)
        config = ControllerConfig(GIVEN)
        self.journal = journal = ControllerJournal(recorder, config, self.clock)
        self.service = ControllerService(
            config,
            SqliteLog(folder, Node("n0", "127.0.0.1:23510")),
            now_ms=self.clock.now_ms,
            notify=lambda name, address, _change: journal.notified(name, address, 1, None),
            close=lambda _connection: None,
            on_committed=journal.committed,
            on_leading=lambda leads: journal.leads(leads, self.service.machine.sets.values),
        )

    def events(self, *kinds: type[ControllerEvent]) -> list[object]:
        return [record.event for record in self.records if isinstance(record.event, kinds)]

    async def ask(self, code: int, connection: int = 1, body: bytes | None = None, **ext: str) -> Reply:
        command = Command(code, 1, ext={"clusterName": "C", "brokerName": "b-a", **ext}, body=body)
        answer = self.service.answer(command, connection, PEER._replace(code=code))
        return answer if isinstance(answer, Reply) else await answer

    async def join(self, number: int) -> None:
        await self.ask(1013, appliedBrokerId=str(number), registerCheckCode=f"10.0.0.{number}:1;7")
        await self.ask(904, number, brokerId=str(number), epoch="1", maxOffset=str(100 * number))

    async def pair(self) -> None:
        """Broker 1 is master, 1 and 2 are in sync."""
        await self.join(1)
        await self.join(2)
        await self.ask(1002, brokerId="1")
        body = b'{"syncStateSet":[1,2],"syncStateSetEpoch":1}'
        assert (await self.ask(1001, masterBrokerId="1", masterEpoch="1", body=body)).code == 0

    async def settled(self) -> None:
        await asyncio.gather(*[task for task in self.service._tasks if task.get_name() != "scan"])


def run(folder: Path, body: Callable[[Bench], Awaitable[None]]) -> Bench:
    bench = Bench(folder)

    async def main() -> None:
        await bench.service.start()
        try:
            await body(bench)
        finally:
            await bench.service.stop()

    asyncio.run(main())
    return bench


def test_a_set_from_its_first_broker_to_a_failover(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.pair()
        bench.service.connection_lost(1)
        await bench.settled()

    bench = run(tmp_path, body)
    assert bench.events(ControllerLeader) == [
        ControllerLeader(controller_group="g1", node="n0", addr="127.0.0.1:23510", leads=True)
    ]
    first_id = bench.events(BrokerIdAssigned)[0]
    assert first_id == BrokerIdAssigned(
        cluster="C",
        broker="b-a",
        members=(1,),
        broker_id=1,
        addr="10.0.0.1:1",
        peer="10.0.0.9:5000",
        who="admin",
        code=1013,
    )
    first, failover = bench.events(MasterElected)
    assert isinstance(first, MasterElected)
    assert isinstance(failover, MasterElected)
    assert (first.cause, first.broker_id, first.before_id, first.master_epoch) == (ElectionCause.FIRST, 1, None, 1)
    assert (first.peer, first.lost_at_ms) == ("10.0.0.9:5000", None)
    assert bench.events(SyncStateChanged) == [
        SyncStateChanged(
            cluster="C",
            broker="b-a",
            broker_id=1,
            master_id=1,
            master_epoch=1,
            sync_state_epoch=2,
            members=(1, 2),
            in_sync=(1, 2),
            before_in_sync=(1,),
            peer="10.0.0.9:5000",
            who="admin",
            code=1001,
        )
    ]
    assert (failover.cause, failover.broker_id, failover.before_id) == (ElectionCause.CLOSED, 2, 1)
    assert (failover.addr, failover.before_addr) == ("10.0.0.2:1", "10.0.0.1:1")
    assert (failover.in_sync, failover.before_in_sync, failover.master_epoch) == ((2,), (1, 2), 2)
    assert failover.candidates == (
        Candidate(id=1, alive=False),
        Candidate(id=2, alive=True, epoch=1, max_offset=200),
    )
    assert failover.peer is None
    assert failover.lost_at_ms is not None
    at = next(record.at for record in bench.records if record.event is failover)
    assert 0 <= at - failover.lost_at_ms < 60_000
    assert len(bench.events(RoleNotified)) == 3  # both brokers, then the one that is left


def test_a_lost_set_is_recorded_once_and_its_return_too(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.pair()
        bench.service.connection_lost(2)
        bench.service.connection_lost(1)
        await bench.settled()
        for _ in range(3):
            assert (await bench.ask(1002, brokerId="2")).code == 2012  # not alive
        await bench.ask(904, 5, brokerId="1")
        assert (await bench.ask(1002, brokerId="1")).code == 0

    elections = run(tmp_path, body).events(MasterElected, NoMasterElected)
    lost, back = elections[1:]
    assert isinstance(lost, NoMasterElected)
    assert (lost.cause, lost.before_id, lost.master_epoch, lost.in_sync) == (ElectionCause.CLOSED, 1, 2, (1, 2))
    assert isinstance(back, MasterElected)
    assert (back.cause, back.before_id, back.broker_id, back.unclean) == (ElectionCause.BROKER, None, 1, False)
    assert back.lost_at_ms == lost.lost_at_ms is not None  # since the master was lost


def test_an_operator_elects_and_cleans(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.pair()
        assert (await bench.ask(1002, brokerId="2", designateElect="true")).code == 0
        assert (await bench.ask(1003, brokerId="1", brokerAddress="10.0.0.7:1")).code == 0
        assert (await bench.ask(1011, brokerControllerIdsToClean="2", isCleanLivingBroker="true")).code == 0
        assert (await bench.ask(1011, isCleanLivingBroker="true")).code == 0

    bench = run(tmp_path, body)
    chosen = bench.events(MasterElected)[-1]
    assert isinstance(chosen, MasterElected)
    assert (chosen.cause, chosen.broker_id, chosen.who) == (ElectionCause.OPERATOR, 2, "admin")
    moved = bench.events(ReplicaMoved)[-1]
    assert isinstance(moved, ReplicaMoved)
    assert (moved.broker_id, moved.addr, moved.before_addr) == (1, "10.0.0.7:1", "10.0.0.1:1")
    one, whole = bench.events(ReplicasCleaned)
    assert isinstance(one, ReplicasCleaned)
    assert (one.broker_ids, one.before_id, one.removed_set, one.master_epoch) == ((2,), 2, False, 3)
    assert isinstance(whole, ReplicasCleaned)
    assert (whole.broker_ids, whole.removed_set) == ((1,), True)


def test_a_node_that_begins_to_lead_records_the_sets_it_finds(tmp_path: Path) -> None:
    async def nothing(_bench: Bench) -> None:
        pass

    run(tmp_path, lambda bench: bench.pair())
    leader, found = [record.event for record in run(tmp_path, nothing).records]
    assert isinstance(leader, ControllerLeader)
    assert leader.brokers == ("b-a",)
    assert found == BrokerSetState(
        cluster="C",
        broker="b-a",
        master_id=1,
        master_epoch=1,
        sync_state_epoch=2,
        in_sync=(1, 2),
        replicas={1: "10.0.0.1:1", 2: "10.0.0.2:1"},
    )


def test_a_notification_that_fails_has_its_reason(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.journal.notified("b-a", "10.0.0.1:1", 3, "connection refused")
    assert bench.events(RoleNotified) == [
        RoleNotified(broker="b-a", addr="10.0.0.1:1", master_epoch=3, why="connection refused")
    ]
