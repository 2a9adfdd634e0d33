"""A simulated broker in controller mode over TCP: gets its id and role from the Controller, and reports its set.

Requests and periods are those of a 5.5.0 broker: 1005 finds the leader, 1012 and 1013 give the id, 1003 registers,
1002 asks for a master, 904 is sent to every node each second, 1004 is polled, and the master sends 1001. 1008 arrives
at the broker's own port.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from routebook.codes import FLAG_ONEWAY
from routebook.controller.codes import ControllerRequest, ControllerResponse
from routebook.fleet.live.broker_port import BrokerPort
from routebook.fleet.live.connection import LiveConnection
from routebook.fleet.live.time_scale import TimeScale
from routebook.wire.command import Command, Reply

CLUSTER: Final = "controlled"
_BEAT_MS: Final = 1_000  # brokerHeartbeatInterval
_TIMEOUT_MS: Final = 10_000  # controllerHeartBeatTimeoutMills
_POLL_MS: Final = 5_000  # syncBrokerMetadataPeriod, checkSyncStateSetPeriod
_LEADER_MS: Final = 10_000  # syncControllerMetadataPeriod
_CALL_MS: Final = 3_000
_RETRY_MS: Final = 1_000
_PORT: Final = 10911


class SyncState(msgspec.Struct, rename="camel"):
    """The body of 1003, 1004 and 1008."""

    sync_state_set: list[int] = []
    sync_state_set_epoch: int = 0


class ControlledBroker:
    """`id` is None until the Controller has assigned one; it survives a crash, like the identity file."""

    def __init__(
        self,
        broker: str,
        host: str,
        connections: Sequence[LiveConnection],
        *,
        time_scale: TimeScale,
        in_sync: Callable[[], list[int]],
        on_master: Callable[["ControlledBroker"], None],
    ) -> None:
        """`in_sync` returns the ids of the set's replicas that have caught up; `on_master` is called in a new role."""
        self.broker = broker
        self.addr = f"{host}:{_PORT}"
        self.id: int | None = None
        self.has_id = asyncio.Event()
        self.is_up = self.is_frozen = self.is_cut = self.is_master = False
        self._host = host
        self._connections = connections
        self._time_scale = time_scale
        self._in_sync = in_sync
        self._on_master = on_master
        self._opening = asyncio.Lock()
        self._leader: LiveConnection | None = None
        self._epoch = 0  # of the master
        self._state = SyncState()
        self._port = BrokerPort(answers={ControllerRequest.NOTIFY_BROKER_ROLE_CHANGED: self._notified})
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start the process."""
        self.is_up, self.is_frozen = True, False
        with contextlib.suppress(OSError):  # no such address here, or in use: roles are then learned by 1004
            await self._port.start(self._host, _PORT)
        self._tasks = [asyncio.create_task(work) for work in (self._serve(), self._beats())]

    def crash(self) -> None:
        """End the process: all connections close."""
        self._end_tasks()
        for connection in self._connections:
            connection.reset()
        self._port.close()
        self.is_up = self.is_cut = self.is_master = False
        self._leader = None

    def freeze(self) -> None:
        """Hang, with all connections open."""
        self._end_tasks()
        self.is_frozen = True

    async def thaw(self) -> None:
        """Continue; the Controller may have closed the connections meanwhile."""
        if self.is_frozen:
            self.is_frozen = self.is_master = False
            self._tasks = [asyncio.create_task(work) for work in (self._serve(), self._beats())]

    def cut(self) -> None:
        """Start a network partition between this broker and all Controller nodes."""
        self.is_cut = True
        for connection in self._connections:
            connection.cut()

    async def heal(self) -> None:
        """End the partition. Its next request shows the broker that it has lost the master role."""
        self.is_cut = False
        await asyncio.gather(*(connection.heal() for connection in self._connections))

    async def close(self) -> None:
        tasks = list(self._tasks)
        self.crash()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(connection.close() for connection in self._connections))

    # tasks

    async def _beats(self) -> None:
        async for _ in self._time_scale.every(_BEAT_MS):
            for connection in self._connections:
                if await self._open(connection) and self.id is not None:
                    await connection.send_oneway(self._heartbeat())

    async def _serve(self) -> None:
        """Join the set, then follow its state until the process ends."""
        while not (await self._find_leader() and await self._join()):
            await self._time_scale.sleep(_RETRY_MS)
        looked_at = time.monotonic()
        async for _ in self._time_scale.every(_POLL_MS, first_ms=_POLL_MS):
            if self._leader is None or time.monotonic() - looked_at > self._time_scale.seconds(_LEADER_MS):
                looked_at = time.monotonic()
                await self._find_leader()
            await self._poll()

    async def _find_leader(self) -> bool:
        """1005 to each node until one names the leader."""
        for connection in self._connections:
            if not await self._open(connection):
                continue
            command = Command(ControllerRequest.CONTROLLER_GET_METADATA_INFO, 0)
            answer = await connection.request(command, timeout_ms=_CALL_MS)
            address = None if answer is None else answer.field("controllerLeaderAddress")
            if address is not None:
                chosen = [one for one in self._connections if str(one.address) == address]
                self._leader = chosen[0] if chosen else connection
                return await self._open(self._leader)
        self._leader = None
        return False

    async def _join(self) -> bool:
        """Get an id, register, and ask for a master if there is none."""
        if self.id is None and not await self._apply_for_id():
            return False
        beat = self._heartbeat()
        for connection in self._connections:
            if await self._open(connection):
                await connection.send_oneway(beat)
        registered = await self._ask(
            ControllerRequest.CONTROLLER_REGISTER_BROKER, brokerId=str(self.id), brokerAddress=self.addr
        )
        if registered is None or registered.code != 0:
            return False
        self._take(registered)
        if registered.field("masterBrokerId") is None:
            await self._elect()
        return True

    async def _apply_for_id(self) -> bool:
        following = await self._ask(ControllerRequest.CONTROLLER_GET_NEXT_BROKER_ID)
        number = None if following is None else following.field("nextBrokerId")
        if number is None:
            return False
        check = f"{self.addr};{time.time_ns() // 1_000_000}"
        given = await self._ask(
            ControllerRequest.CONTROLLER_APPLY_BROKER_ID, appliedBrokerId=number, registerCheckCode=check
        )
        if given is None or given.code != 0:
            return False
        self.id = int(number)
        self.has_id.set()
        return True

    async def _elect(self) -> None:
        answer = await self._ask(ControllerRequest.CONTROLLER_ELECT_MASTER, brokerId=str(self.id))
        if answer is not None and answer.code in (0, ControllerResponse.MASTER_STILL_EXIST):
            self._take(answer)

    async def _poll(self) -> None:
        answer = await self._ask(ControllerRequest.CONTROLLER_GET_REPLICA_INFO)
        if answer is None or answer.code != 0:
            self._leader = None
            return
        self._take(answer)
        if answer.field("masterBrokerId") is None:
            await self._elect()
        elif self.is_master:
            await self._report_sync()

    async def _report_sync(self) -> None:
        wanted = self._in_sync()
        if wanted == sorted(self._state.sync_state_set) or self.id not in wanted:
            return
        body = msgspec.json.encode(SyncState(wanted, self._state.sync_state_set_epoch))
        fields = {"masterBrokerId": str(self.id), "masterEpoch": str(self._epoch)}
        answer = await self._ask(ControllerRequest.CONTROLLER_ALTER_SYNC_STATE_SET, body, **fields)
        if answer is not None and answer.code == 0:
            self._take_body(answer)

    # requests and answers

    async def _open(self, connection: LiveConnection) -> bool:
        """Both tasks use the connections: only one opens them at a time."""
        async with self._opening:
            return await connection.connect()

    def _heartbeat(self) -> Command:
        timeout_ms = max(1, round(_TIMEOUT_MS / self._time_scale.scale))
        ext = {
            "clusterName": CLUSTER,
            "brokerName": self.broker,
            "brokerAddr": self.addr,
            "brokerId": str(self.id),
            "epoch": str(self._epoch),
            "maxOffset": "0",
            "confirmOffset": "0",
            "heartbeatTimeoutMills": str(timeout_ms),
            "electionPriority": "2147483647",
        }
        return Command(ControllerRequest.BROKER_HEARTBEAT, 0, flag=FLAG_ONEWAY, ext={**ext})

    async def _ask(self, code: int, body: bytes | None = None, **fields: str) -> Command | None:
        leader = self._leader
        if leader is None or not await self._open(leader):
            return None
        invoked = str(time.time_ns() // 1_000_000)
        ext = {"clusterName": CLUSTER, "brokerName": self.broker, **fields, "invokeTime": invoked}
        answer = await leader.request(Command(code, 0, ext={**ext}, body=body), timeout_ms=_CALL_MS)
        if answer is not None and answer.code == ControllerResponse.NOT_LEADER:
            self._leader = None
        return answer

    def _notified(self, command: Command) -> Reply:
        if self.is_up and not (self.is_frozen or self.is_cut):
            self._take(command)
        return Reply()

    def _take(self, answer: Command) -> None:
        """Take the role from an answer or a notification; an older epoch is ignored."""
        epoch, master = answer.field("masterEpoch"), answer.field("masterBrokerId")
        if epoch is not None and int(epoch) < self._epoch:
            return
        self._take_body(answer)
        if epoch is not None:
            self._epoch = int(epoch)
        was_master, self.is_master = self.is_master, master is not None and master == str(self.id)
        if self.is_master and not was_master:
            self._on_master(self)

    def _take_body(self, answer: Command) -> None:
        if answer.body:
            body = msgspec.json.decode(answer.body, type=SyncState)
            epoch = answer.field("syncStateSetEpoch")
            known = body.sync_state_set_epoch or (int(epoch) if epoch is not None else 0)
            self._state = SyncState(body.sync_state_set, known)

    def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []
