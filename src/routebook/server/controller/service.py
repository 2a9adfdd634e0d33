"""The Controller of one node: answers requests, commits through the log, watches liveness, notifies brokers.

Requests about one set are decided one after another, under that set's lock; sets do not wait for each other. State
changes after the log has committed, so an answer never precedes its commit.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from routebook.codes import ResponseCode
from routebook.controller.codes import ControllerRequest, ControllerResponse
from routebook.controller.decide import Decision
from routebook.controller.liveness import BrokerId
from routebook.controller.machine import LEADER_CODES, NOT_LEADER, Machine, refusal, reply_of
from routebook.controller.record import NO_ORIGIN, Committed, Origin, prepare
from routebook.controller.requests import ElectMaster
from routebook.controller.state import BrokerSet, Event
from routebook.controller_events import ElectionCause
from routebook.errors import BadRequest, RequestError
from routebook.properties import MalformedEscape, decode_wire, parse
from routebook.server.controller.config import ControllerConfig
from routebook.server.controller.log import Log, LogError, LogListener, NotLeader
from routebook.server.observe.controller_meter import ControllerMeter
from routebook.wire.command import Command, Reply

T = TypeVar("T")

COMMIT_TIMEOUT_S: Final = 5.0
FIRST_BROKER_SCAN_S: Final = 2.0
MAX_STALL_S: Final = 1.0
WARM_UP_S: Final = 10.0  # until then the live table may lack brokers that are alive


class ControllerService:
    """`notify` sends a 1008 about a set to an address, `close` closes a connection, `on_committed` records a
    change, or an election that found no master.

    `save` stores settings that 1009 changed, and returns the answer, with a remark about others.
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
        on_problem: Callable[[str], None] = lambda _why: None,
        save: Callable[[dict[str, str], str | None], Awaitable[Reply]] | None = None,
    ) -> None:
        self.config = config
        self.log = log
        self.machine = Machine()
        self._now_ms = now_ms
        self._notify = notify
        self._close = close
        self._on_committed = on_committed
        self._on_leading = on_leading
        self._on_problem = on_problem
        self._save = save
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # those in use
        self._tasks: set[asyncio.Task[Any]] = set()
        self._started_ms = 0
        self._ran_at = time.monotonic()
        self._leading = asyncio.Event()
        self._following = asyncio.Event()  # the opposite of leading
        self.meter = ControllerMeter()

    async def start(self) -> None:
        self._started_ms = self._now_ms()
        await self.log.start(LogListener(self._take_sets, self._take_set, self._take_leading, self._on_problem))
        self._ran_at = time.monotonic()
        for scan in (self._watch_for_stalls(), self._scan_brokers()):
            self._spawn(scan, "scan")
        self._spawn(self._scan_masters(), "scan")

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.log.stop()

    def answer(self, command: Command, connection: int, origin: Origin = NO_ORIGIN) -> Reply | Awaitable[Reply]:
        """The reply to a request; an awaitable where it needs a commit."""
        try:
            match command.code:
                case ControllerRequest.BROKER_HEARTBEAT:
                    return self.machine.heartbeat(command, connection=connection, now_ms=self._now())
                case ControllerRequest.CONTROLLER_GET_METADATA_INFO:
                    return Reply(ext=self.config.metadata(self.log.leader, is_leader=self.log.is_leader))
                case ControllerRequest.CONTROLLER_GET_SYNC_STATE_DATA:
                    if self.config.live.linearizable_reads and self.log.is_leader:
                        return self._confirmed_sync_state_data(command)
                    return self.machine.sync_state_data(command, now_ms=self._now(), is_leader=self.log.is_leader)
                case ControllerRequest.GET_CONTROLLER_CONFIG:
                    return Reply(body=self.config.text().encode())
                case ControllerRequest.UPDATE_CONTROLLER_CONFIG:
                    return self._update_config(command.body or b"")
                case code if code in LEADER_CODES:
                    return self._answer_leader(self.machine.read(command), origin) if self.log.is_leader else NOT_LEADER
                case code:
                    remark = f" request type {code} not supported"  # Java: with this leading blank
                    return Reply(code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=remark)
        except BadRequest as error:
            return refusal(error)
        except RequestError as error:
            return Reply(code=int(error.code), remark=error.remark)

    def _update_config(self, text: bytes) -> Reply | Awaitable[Reply]:
        """1009."""
        try:
            entries = parse(decode_wire(text))
        except MalformedEscape:
            raise BadRequest("string2Properties error") from None  # Java's words
        changed, remark = self.config.update({entry.key: entry.value for entry in entries})
        return Reply(remark=remark) if self._save is None or not changed else self._save(changed, remark)

    def connection_lost(self, connection: int) -> None:
        """Brokers whose current connection closed are dead at once; a lost master starts an election."""
        for broker in self.machine.live.connection_lost(connection):
            self._broker_lost(broker, ElectionCause.CLOSED, self._now())

    # -- decisions -----------------------------------------------------------------------------------------------

    def _answer_leader(self, request: Any, origin: Origin) -> Reply | Awaitable[Reply]:
        """At once if nothing changes and no other decision about the set is under way."""
        is_free = request.broker not in self._locks and not self.config.live.linearizable_reads
        if is_free and not isinstance(request, ElectMaster):
            decision = self.machine.decide(request, now_ms=self._now(), allow_unclean=self.config.live.allow_unclean)
            if decision.event is None:
                return reply_of(decision.answer)
        return self._lead(request, origin, self._lock(request.broker))

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    async def _lead(self, request: Any, origin: Origin, lock: asyncio.Lock) -> Reply:
        # a task: a commit that takes too long still ends with the state that was stored
        task = self._spawn(self._decide(request, lock, origin=origin), "decision")
        await asyncio.wait({task}, timeout=COMMIT_TIMEOUT_S)
        if not task.done():
            return Reply(code=ResponseCode.SYSTEM_ERROR, remark="not committed in time; try again")
        try:
            return reply_of(task.result().answer)
        except NotLeader:
            return NOT_LEADER
        except LogError as error:
            return Reply(code=ResponseCode.SYSTEM_ERROR, remark=str(error))

    async def _confirmed_sync_state_data(self, command: Command) -> Reply:
        try:
            await self.log.confirm()
            return self.machine.sync_state_data(command, now_ms=self._now(), is_leader=self.log.is_leader)
        except NotLeader:
            return NOT_LEADER
        except LogError as error:
            return Reply(code=ResponseCode.SYSTEM_ERROR, remark=str(error))
        except BadRequest as error:
            return refusal(error)

    async def _decide(
        self,
        request: Any,
        lock: asyncio.Lock,
        cause: ElectionCause | None = None,
        lost_ms: int | None = None,
        *,
        origin: Origin = NO_ORIGIN,
    ) -> Decision:
        name = request.broker
        async with lock:
            if self.config.live.linearizable_reads:
                await self.log.confirm()
            if not self.log.is_leader:  # it may have changed while the request waited for the set
                raise NotLeader("this node does not lead")
            decision, change = prepare(
                self.machine,
                request,
                now_ms=self._now(),
                allow_unclean=self.config.live.allow_unclean,
                cause=cause,
                lost_ms=lost_ms,
                origin=origin,
            )
            after = None if change is None else change.after
            if decision.event is not None:
                await self._commit(decision.event, after)
        if change is not None:
            self._on_committed(change)
        election = None if change is None else change.election
        if election is not None:
            won = decision.event is not None and decision.answer.code == ResponseCode.SUCCESS
            self.meter.elected("new_master_elected" if won else "no_master_elected", election.cause)
            if won and after is not None and self.config.live.notify:
                role = self.machine.role_change(after)
                for address in self.machine.addresses_to_notify(after, self._now_ms()):
                    self._notify(name, address, role)
        elif isinstance(request, ElectMaster) and decision.answer.code == ControllerResponse.MASTER_STILL_EXIST:
            self.meter.elected("keep_current_master", cause or ElectionCause.BROKER)
        return decision

    async def _commit(self, event: Event, after: BrokerSet | None) -> None:
        """Commit; the log then changes the set here too."""
        began_ns = time.perf_counter_ns()
        try:
            await self.log.commit(event, after)
        except (NotLeader, LogError) as error:
            self.meter.not_committed(certain=isinstance(error, NotLeader))
            raise
        self.meter.committed(began_ns)

    # -- liveness ------------------------------------------------------------------------------------------------

    def _broker_lost(self, broker: BrokerId, cause: ElectionCause, lost_ms: int) -> None:
        if self.log.is_leader and self.machine.is_master(broker) and broker.broker is not None:
            self._spawn(self._find_master(broker.broker, cause, lost_ms))

    async def _find_master(self, name: str, cause: ElectionCause, lost_ms: int | None) -> None:
        """Elect in place of a dead master; try again only where the commit failed."""
        for _ in range(self.config.live.max_elections):
            try:
                await self._decide(ElectMaster(name), self._lock(name), cause, lost_ms)
            except NotLeader:
                return
            except LogError:
                await asyncio.sleep(COMMIT_TIMEOUT_S / 5)
            else:
                return

    async def _scan_brokers(self) -> None:
        await asyncio.sleep(FIRST_BROKER_SCAN_S)
        while True:
            self._expire_brokers()
            await asyncio.sleep(self.config.broker_scan_s)

    async def _watch_for_stalls(self) -> None:
        """Look at the clock often, so that a long gap is a stall and not idleness."""
        while True:
            self._now()
            await asyncio.sleep(MAX_STALL_S / 4)

    def _now(self) -> int:
        """The time for decisions about liveness.

        After a gap this process was stopped: heartbeats have arrived that it has not read yet, so the gap does not
        count as silence of brokers.
        """
        ran_at, self._ran_at = self._ran_at, time.monotonic()
        if self._ran_at - ran_at > MAX_STALL_S:
            self.machine.live.extend(int((self._ran_at - ran_at) * 1000))
        return self._now_ms()

    def _expire_brokers(self) -> None:
        for broker, connection, last_ms in self.machine.live.expire(self._now()):
            if connection not in self.machine.live.connections:  # Java closes it also under brokers that are alive
                self._close(connection)
            self._broker_lost(broker, ElectionCause.EXPIRED, last_ms)

    async def _scan_masters(self) -> None:
        """While this node leads, look for dead masters: at once, then periodically."""
        while True:
            await self._leading.wait()
            warm_in_s = (self._started_ms - self._now_ms()) / 1000 + WARM_UP_S
            if warm_in_s > 0:
                await asyncio.sleep(warm_in_s)
            cause = ElectionCause.LEADER_START
            while self._leading.is_set():
                lost = self.machine.sets_with_dead_master(self._now())
                await asyncio.gather(
                    *(self._find_master(name, cause, self.machine.master_seen_ms(name)) for name in lost)
                )
                cause = ElectionCause.SCAN
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.config.live.master_scan_s):
                        await self._following.wait()

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
