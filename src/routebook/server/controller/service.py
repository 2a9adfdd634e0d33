"""The Controller of one node: answers requests, commits through the log, watches liveness, notifies brokers.

Requests about one set are decided one after another, under that set's lock; sets do not wait for each other. State
changes after the log has committed, so an answer never precedes its commit.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar

import msgspec

from routebook.codes import ResponseCode
from routebook.controller.codes import ControllerRequest
from routebook.controller.decide import Decision
from routebook.controller.liveness import BrokerId
from routebook.controller.machine import LEADER_CODES, NOT_LEADER, Machine, refusal, reply_of
from routebook.controller.requests import ElectMaster
from routebook.controller.state import BrokerSet, Event
from routebook.errors import BadRequest, RequestError
from routebook.properties import decode_wire, parse
from routebook.server.controller.config import ControllerConfig
from routebook.server.controller.log import Log, LogError, LogListener, NotLeader
from routebook.wire.command import Command, Reply

T = TypeVar("T")

COMMIT_TIMEOUT_S: Final = 5.0
FIRST_BROKER_SCAN_S: Final = 2.0
WARM_UP_S: Final = 10.0  # until then the live table may lack brokers that are alive


class Committed(msgspec.Struct, frozen=True):
    """A committed change, for the journal: the set before and after, the event, and why it happened."""

    event: Event
    before: BrokerSet | None
    after: BrokerSet | None
    cause: str


class ControllerService:
    """`notify` sends a 1008 about a set to an address, `close` closes a connection, `on_committed` records a change.

    `save` stores settings that 1009 changed, and returns the answer.
    """

    def __init__(
        self,
        config: ControllerConfig,
        log: Log,
        *,
        now_ms: Callable[[], int],
        notify: Callable[[str, str, Reply], None],
        close: Callable[[int], None],
        on_committed: Callable[[Committed], None],
        on_leading: Callable[[bool], None] = lambda _leading: None,
        save: Callable[[dict[str, str]], Awaitable[Reply]] | None = None,
    ) -> None:
        self.config = config
        self.log = log
        self.machine = Machine()
        self._now_ms = now_ms
        self._notify = notify
        self._close = close
        self._on_committed = on_committed
        self._on_leading = on_leading
        self._save = save
        self._locks: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._started_ms = 0
        self._leading = asyncio.Event()
        self._following = asyncio.Event()  # the opposite of leading
        self.elections: dict[str, int] = {}

    async def start(self) -> None:
        self._started_ms = self._now_ms()
        await self.log.start(LogListener(self._take_sets, self._take_set, self._take_leading))
        self._spawn(self._scan_brokers(), "scan")
        self._spawn(self._scan_masters(), "scan")

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.log.stop()

    def answer(self, command: Command, connection: int) -> Reply | Awaitable[Reply]:
        """The reply to a request; an awaitable where it needs a commit."""
        try:
            match command.code:
                case ControllerRequest.BROKER_HEARTBEAT:
                    return self.machine.heartbeat(command, connection=connection, now_ms=self._now_ms())
                case ControllerRequest.CONTROLLER_GET_METADATA_INFO:
                    return Reply(ext=self.config.metadata(self.log.leader, is_leader=self.log.is_leader))
                case ControllerRequest.CONTROLLER_GET_SYNC_STATE_DATA:
                    return self.machine.sync_state_data(command, now_ms=self._now_ms(), is_leader=self.log.is_leader)
                case ControllerRequest.GET_CONTROLLER_CONFIG:
                    return Reply(body=self.config.text().encode())
                case ControllerRequest.UPDATE_CONTROLLER_CONFIG:
                    entries = parse(decode_wire(command.body or b""))
                    changed = self.config.update({entry.key: entry.value for entry in entries})
                    return Reply() if self._save is None or not changed else self._save(changed)
                case code if code in LEADER_CODES:
                    return self._lead(self.machine.read(command)) if self.log.is_leader else NOT_LEADER
                case code:
                    remark = f" request type {code} not supported"  # Java: with this leading blank
                    return Reply(code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=remark)
        except BadRequest as error:
            return refusal(error)
        except RequestError as error:
            return Reply(code=int(error.code), remark=error.remark)

    def connection_lost(self, connection: int) -> None:
        """Brokers whose current connection closed are dead at once; a lost master starts an election."""
        for broker in self.machine.live.connection_lost(connection):
            self._broker_lost(broker, "connection closed")

    # -- decisions -----------------------------------------------------------------------------------------------

    async def _lead(self, request: Any, cause: str = "request") -> Reply:
        # a task: a commit that takes too long still ends with the state that was stored
        task = self._spawn(self._decide(request, cause), "decision")
        await asyncio.wait({task}, timeout=COMMIT_TIMEOUT_S)
        if not task.done():
            return Reply(code=ResponseCode.SYSTEM_ERROR, remark="not committed in time; try again")
        try:
            return reply_of(task.result().answer)
        except NotLeader:
            return NOT_LEADER
        except LogError as error:
            return Reply(code=ResponseCode.SYSTEM_ERROR, remark=str(error))

    async def _decide(self, request: Any, cause: str) -> Decision:
        name = request.broker
        async with self._locks.setdefault(name, asyncio.Lock()):
            decision = self.machine.decide(request, now_ms=self._now_ms(), allow_unclean=self.config.live.allow_unclean)
            if decision.event is None:
                return decision
            before = self.machine.sets.get(name)
            after = self.machine.after(decision.event)
            await self.log.commit(decision.event, after)
            self.machine.put(name, after)
        self._on_committed(Committed(decision.event, before, after, cause))
        if isinstance(request, ElectMaster):
            result = "new_master_elected" if decision.answer.code == 0 else "no_master_elected"
            self.elections[result] = self.elections.get(result, 0) + 1
            if decision.answer.code == 0 and after is not None and self.config.live.notify:
                change = self.machine.role_change(after)
                for address in self.machine.addresses_to_notify(after, self._now_ms()):
                    self._notify(name, address, change)
        return decision

    # -- liveness ------------------------------------------------------------------------------------------------

    def _broker_lost(self, broker: BrokerId, cause: str) -> None:
        if self.log.is_leader and self.machine.is_master(broker) and broker.broker is not None:
            self._spawn(self._find_master(broker.broker, cause))

    async def _find_master(self, name: str, cause: str) -> None:
        """Elect in place of a dead master; try again only where the commit failed."""
        for _ in range(self.config.live.max_elections):
            try:
                await self._decide(ElectMaster(name), cause)
            except NotLeader:
                return
            except LogError:
                await asyncio.sleep(COMMIT_TIMEOUT_S / 5)
            else:
                return

    async def _scan_brokers(self) -> None:
        await asyncio.sleep(FIRST_BROKER_SCAN_S)
        while True:
            for broker, connection in self.machine.live.expire(self._now_ms()):
                self._close(connection)
                self._broker_lost(broker, "heartbeat timeout")
            await asyncio.sleep(self.config.broker_scan_s)

    async def _scan_masters(self) -> None:
        """While this node leads, look for dead masters: at once, then periodically."""
        while True:
            await self._leading.wait()
            warm_in_s = (self._started_ms - self._now_ms()) / 1000 + WARM_UP_S
            if warm_in_s > 0:
                await asyncio.sleep(warm_in_s)
            while self._leading.is_set():
                for name in self.machine.sets_with_dead_master(self._now_ms()):
                    await self._find_master(name, "scan")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._following.wait(), self.config.live.master_scan_s)

    # -- the log's callbacks -------------------------------------------------------------------------------------

    def _take_sets(self, sets: Mapping[str, BrokerSet]) -> None:
        self.machine.sets = dict(sets)

    def _take_set(self, name: str, state: BrokerSet | None) -> None:
        self.machine.put(name, state)

    def _take_leading(self, leading: bool) -> None:
        begins, ends = (self._leading, self._following) if leading else (self._following, self._leading)
        ends.clear()
        begins.set()
        self._on_leading(leading)

    def _spawn(self, work: Coroutine[None, None, T], name: str = "election") -> asyncio.Task[T]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
