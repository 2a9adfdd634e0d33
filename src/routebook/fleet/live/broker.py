"""A simulated broker over TCP: sends the requests of a real 5.5.0 broker at the same times.

start           103 to every NameServer          after 10 s and then every register interval: 103 (or 322 first)
every 3 s       reconnect                        from 10 s on, every 5 s: 106 to one NameServer
acting master   every second a one-way 322 or 904 to all, and 105 or 901 to one
new topic       103 with that topic, or 217      stop: 104 to each, ten more seconds, end
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from typing import Any, Final

from routebook.codes import ResponseCode
from routebook.fleet.broker_requests import BrokerRequests
from routebook.fleet.live.broker_port import BrokerPort
from routebook.fleet.live.connection import LiveConnection
from routebook.fleet.live.time_scale import TimeScale
from routebook.fleet.scenario import BrokerTerms
from routebook.wire.command import Command

_RECONNECT_MS: Final = 3_000
_FIRST_REGISTER_MS: Final = 10_000
_CLUSTER_QUERY_MS: Final = 5_000
_HEARTBEAT_MS: Final = 1_000
_LINGER_MS: Final = 10_000
REGISTER_TIMEOUT_MS: Final = 24_000  # registerBrokerTimeoutMills
CALL_TIMEOUT_MS: Final = 3_000


class LiveBroker:
    """One broker process. It can be started again after `crash` or `stop`; other methods need it to be up."""

    def __init__(
        self,
        requests: BrokerRequests,
        terms: BrokerTerms,
        connections: Sequence[LiveConnection],
        *,
        time_scale: TimeScale,
        rng: Random,
        port: BrokerPort | None = None,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.requests = requests
        self.connections = connections
        self.port = port
        self.registered = 0  # accepted registrations
        self.refused = 0
        self.delay_ms = 0  # maximum random delay of registrations and heartbeats
        self.problem: BaseException | None = None  # exception of a background task, which is a bug
        self._terms = terms
        self._time_scale = time_scale
        self._rng = rng
        self.now_ms = now_ms
        self._awake = asyncio.Event()
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []

    # start and stop

    @property
    def is_up(self) -> bool:
        return bool(self._tasks)

    @property
    def is_frozen(self) -> bool:
        return self.is_up and not self._awake.is_set()

    @property
    def can_send(self) -> bool:
        """Whether it can send to at least one NameServer."""
        return self._awake.is_set() and any(
            connection.is_open and not connection.is_cut for connection in self.connections
        )

    async def start(self) -> None:
        """Connect to all NameServers and register; then run the periodic tasks."""
        for connection in self.connections:
            connection.reset()
        self._stopping = False
        self._awake.set()
        await self._connect()
        await self._register(force=True)
        self._run_task(self._reconnect())
        self._run_task(self._register_periodically())
        self._run_task(self._query_cluster())
        if self._terms.acting_master != "off":
            self._run_task(self._send_heartbeats())
            self._run_task(self._query_members())

    async def stop(self, *, linger: bool = True) -> None:
        """Stop cleanly: send 104 to each NameServer, then stay connected for ten seconds without registering."""
        self._stopping = True
        unregistration = self.requests.unregistration()
        for connection in self.connections:
            await connection.request(unregistration, timeout_ms=CALL_TIMEOUT_MS)
        if linger:
            await self._time_scale.sleep(_LINGER_MS)
        self._cancel_tasks()
        await asyncio.gather(*(connection.close() for connection in self.connections))

    def crash(self) -> None:
        """End the process: connections close without an unregistration."""
        self._cancel_tasks()
        for connection in self.connections:
            connection.drop()

    def vanish(self) -> None:
        """Fail silently, like a machine that loses power: connections do not even close."""
        self._cancel_tasks()
        for connection in self.connections:
            connection.cut()

    async def close(self) -> None:
        """Release all resources in any state, without an unregistration."""
        self._cancel_tasks()
        await asyncio.gather(*(connection.close() for connection in self.connections))
        if self.port is not None:
            self.port.close()

    def freeze(self) -> None:
        """Hang, with connections open."""
        self._awake.clear()

    def thaw(self) -> None:
        """Continue; overdue tasks run at once."""
        self._awake.set()

    # on demand

    async def announce(self, topics: Sequence[str]) -> None:
        """Register created or changed topics."""
        for command in self.requests.incremental(topics, self.now_ms()):
            await self._to_all(command, REGISTER_TIMEOUT_MS)

    async def register(self) -> None:
        """Register outside the regular interval, after a role change."""
        await self._register(force=True)

    # periodic tasks

    async def _reconnect(self) -> None:
        async for _ in self._time_scale.every(_RECONNECT_MS, first_ms=_RECONNECT_MS):
            await self._awake.wait()
            await self._connect()

    async def _register_periodically(self) -> None:
        async for _ in self._time_scale.every(self._terms.register_every, first_ms=_FIRST_REGISTER_MS):
            await self._awake.wait()
            if self.delay_ms:
                await self._time_scale.sleep(self._rng.random() * self.delay_ms)
            await self._register(force=self._terms.force_register)

    async def _query_cluster(self) -> None:
        async for _ in self._time_scale.every(_CLUSTER_QUERY_MS, first_ms=_FIRST_REGISTER_MS):
            await self._awake.wait()
            await self._to_one(self.requests.cluster_query())

    async def _send_heartbeats(self) -> None:
        async for _ in self._time_scale.every(_HEARTBEAT_MS, first_ms=_HEARTBEAT_MS):
            await self._awake.wait()
            if self.delay_ms:
                await self._time_scale.sleep(self._rng.random() * self.delay_ms)
            heartbeat = self.requests.heartbeat()
            await asyncio.gather(*(connection.send_oneway(heartbeat) for connection in self.connections))

    async def _query_members(self) -> None:
        async for _ in self._time_scale.every(_HEARTBEAT_MS, first_ms=_HEARTBEAT_MS):
            await self._awake.wait()
            await self._to_one(self.requests.member_query())

    async def _connect(self) -> None:
        await asyncio.gather(*(connection.connect() for connection in self.connections))

    async def _register(self, *, force: bool) -> None:
        if self._stopping or (not force and not await self._is_outdated()):
            return
        for command in self.requests.registration(self.now_ms()):
            await self._to_all(command, REGISTER_TIMEOUT_MS)

    async def _is_outdated(self) -> bool:
        """Java: needRegister: whether any NameServer has another version, or does not answer."""
        query = self.requests.version_query(oneway=False)
        answers = await asyncio.gather(
            *(connection.request(query, timeout_ms=CALL_TIMEOUT_MS) for connection in self.connections)
        )
        return any(answer is None or answer.field("changed") != "false" for answer in answers)

    async def _to_all(self, command: Command, timeout_ms: float) -> None:
        calls = (connection.request(command, timeout_ms=timeout_ms) for connection in self.connections)
        for answer in await asyncio.gather(*calls):
            if answer is not None:
                self.registered += answer.code == ResponseCode.SUCCESS
                self.refused += answer.code != ResponseCode.SUCCESS

    async def _to_one(self, command: Command) -> None:
        """Send to the first NameServer with an open connection."""
        connection = next((connection for connection in self.connections if connection.is_open), None)
        if connection is not None:
            await connection.request(command, timeout_ms=CALL_TIMEOUT_MS)

    def _run_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        task.add_done_callback(self._task_ended)
        self._tasks.append(task)

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self.problem = self.problem or task.exception()

    def _cancel_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []
