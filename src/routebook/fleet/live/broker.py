"""A make-believe broker over TCP: it says what a real 5.5.0 broker says, when it says it.

at the start    103 to every NameServer          +10 s, then every register period: 103 (or 322 first)
every 3 s       look after the connections       from +10 s, every 5 s: 106 to one of them
acting master   every second a one-way 322 or 904 to all, and 105 or 901 to one
a topic         103 with that topic, or 217      stop: 104 to each, ten seconds more, the end
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from typing import Any, Final

from routebook.codes import ResponseCode
from routebook.fleet.broker_requests import BrokerVoice
from routebook.fleet.live.broker_port import BrokerPort
from routebook.fleet.live.connection import LiveLine
from routebook.fleet.live.pace import Pace
from routebook.fleet.scenario import BrokerTerms
from routebook.wire.command import Command

_KEEP_MS: Final = 3_000
_FIRST_REGISTER_MS: Final = 10_000
_CLUSTER_QUERY_MS: Final = 5_000
_HEARTBEAT_MS: Final = 1_000
_LINGER_MS: Final = 10_000
REGISTER_TIMEOUT_MS: Final = 24_000  # registerBrokerTimeoutMills
CALL_TIMEOUT_MS: Final = 3_000


class LiveBroker:
    """One broker process. `start` and `crash` or `stop` may follow each other; all else is for one that is up."""

    def __init__(
        self,
        voice: BrokerVoice,
        terms: BrokerTerms,
        lines: Sequence[LiveLine],
        *,
        pace: Pace,
        draw: Random,
        port: BrokerPort | None = None,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.voice = voice
        self.lines = lines
        self.port = port
        self.registered = 0  # registrations that were taken
        self.refused = 0
        self.delay_ms = 0  # its registrations come late by up to so much
        self.problem: BaseException | None = None  # what ended one of its tasks, which nothing should
        self._terms = terms
        self._pace = pace
        self._draw = draw
        self.now_ms = now_ms
        self._awake = asyncio.Event()
        self._leaving = False
        self._tasks: list[asyncio.Task[None]] = []

    # its life

    @property
    def is_up(self) -> bool:
        return bool(self._tasks)

    @property
    def is_frozen(self) -> bool:
        return self.is_up and not self._awake.is_set()

    @property
    def is_heard(self) -> bool:
        """Whether it could say something to a NameServer, also while it starts."""
        return self._awake.is_set() and any(line.is_open and not line.is_cut for line in self.lines)

    async def start(self) -> None:
        """Connect to all NameServers and register; then go on by itself."""
        for line in self.lines:
            line.reset()
        self._leaving = False
        self._awake.set()
        await self._connect()
        await self._register(force=True)
        self._go_on(self._keep_connected())
        self._go_on(self._keep_registered())
        self._go_on(self._keep_asking())
        if self._terms.acting_master != "off":
            self._go_on(self._keep_beating())
            self._go_on(self._keep_looking())

    async def stop(self, *, linger: bool = True) -> None:
        """In order: 104 to one after the other, first thing; then it lives ten seconds more, but does not register."""
        self._leaving = True
        farewell = self.voice.farewell()
        for line in self.lines:
            await line.ask(farewell, timeout_ms=CALL_TIMEOUT_MS)
        if linger:
            await self._pace.sleep(_LINGER_MS)
        self._end()
        await asyncio.gather(*(line.close() for line in self.lines))

    def crash(self) -> None:
        """Its connections close, and that is all."""
        self._end()
        for line in self.lines:
            line.drop()

    def vanish(self) -> None:
        """Its machine is gone: nothing is sent any more, not even the end of its connections."""
        self._end()
        for line in self.lines:
            line.cut()

    async def close(self) -> None:
        """End without a word to anybody, whatever state it is in."""
        self._end()
        await asyncio.gather(*(line.close() for line in self.lines))
        if self.port is not None:
            self.port.close()

    def freeze(self) -> None:
        """It stands still, with its connections open."""
        self._awake.clear()

    def thaw(self) -> None:
        """It goes on; what was due meanwhile is done now."""
        self._awake.set()

    # what it does when asked to

    async def announce(self, topics: Sequence[str]) -> None:
        """Topics were created or changed."""
        for command in self.voice.incremental(topics, self.now_ms()):
            await self._to_all(command, REGISTER_TIMEOUT_MS)

    async def register(self) -> None:
        """Out of turn: its role changed."""
        await self._register(force=True)

    # what it does by itself

    async def _keep_connected(self) -> None:
        async for _ in self._pace.every(_KEEP_MS, first_ms=_KEEP_MS):
            await self._awake.wait()
            await self._connect()

    async def _keep_registered(self) -> None:
        async for _ in self._pace.every(self._terms.register_every, first_ms=_FIRST_REGISTER_MS):
            await self._awake.wait()
            if self.delay_ms:
                await self._pace.sleep(self._draw.random() * self.delay_ms)
            await self._register(force=self._terms.force_register)

    async def _keep_asking(self) -> None:
        async for _ in self._pace.every(_CLUSTER_QUERY_MS, first_ms=_FIRST_REGISTER_MS):
            await self._awake.wait()
            await self._to_one(self.voice.cluster_query())

    async def _keep_beating(self) -> None:
        async for _ in self._pace.every(_HEARTBEAT_MS, first_ms=_HEARTBEAT_MS):
            await self._awake.wait()
            if self.delay_ms:
                await self._pace.sleep(self._draw.random() * self.delay_ms)
            beat = self.voice.heartbeat()
            await asyncio.gather(*(line.tell(beat) for line in self.lines))

    async def _keep_looking(self) -> None:
        async for _ in self._pace.every(_HEARTBEAT_MS, first_ms=_HEARTBEAT_MS):
            await self._awake.wait()
            await self._to_one(self.voice.member_query())

    async def _connect(self) -> None:
        await asyncio.gather(*(line.connect() for line in self.lines))

    async def _register(self, *, force: bool) -> None:
        if self._leaving or (not force and not await self._has_news()):
            return
        for command in self.voice.registration(self.now_ms()):
            await self._to_all(command, REGISTER_TIMEOUT_MS)

    async def _has_news(self) -> bool:
        """Java: needRegister, if any NameServer says so, or says nothing."""
        query = self.voice.version_query(oneway=False)
        answers = await asyncio.gather(*(line.ask(query, timeout_ms=CALL_TIMEOUT_MS) for line in self.lines))
        return any(answer is None or answer.field("changed") != "false" for answer in answers)

    async def _to_all(self, command: Command, timeout_ms: float) -> None:
        asking = (line.ask(command, timeout_ms=timeout_ms) for line in self.lines)
        for answer in await asyncio.gather(*asking):
            if answer is not None:
                self.registered += answer.code == ResponseCode.SUCCESS
                self.refused += answer.code != ResponseCode.SUCCESS

    async def _to_one(self, command: Command) -> None:
        """The same NameServer as long as there is a connection to it."""
        line = next((line for line in self.lines if line.is_open), None)
        if line is not None:
            await line.ask(command, timeout_ms=CALL_TIMEOUT_MS)

    def _go_on(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self.problem = self.problem or task.exception()

    def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []
