"""A Controller with its broker sets in virtual time: the real state machine, and the journal of its NameServer.

Brokers send a heartbeat every second. Between faults nothing happens, so heartbeats are not simulated one by one: a
healthy broker has one entry that does not expire, and a frozen one an entry that does.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from routebook.controller.codes import ControllerResponse
from routebook.controller.liveness import BrokerId, Heartbeat
from routebook.controller.machine import Machine
from routebook.controller.record import Origin, prepare
from routebook.controller.requests import AlterSyncStateSet, ApplyBrokerId, ElectMaster, RegisterBroker
from routebook.controller_events import ElectionCause
from routebook.events import Event
from routebook.fleet.incidents import Incident, set_names
from routebook.fleet.scenario import FaultKind, Scenario
from routebook.fleet.virtual.clock import VirtualClock
from routebook.fleet.virtual.controller_truth import ADDRESS, BEAT_MS, SCAN_MS, TIMEOUT_MS, controller_truth
from routebook.fleet.virtual.nameserver import VirtualNameServer
from routebook.fleet.virtual.truth import Truth
from routebook.server.controller.config import ControllerConfig
from routebook.server.controller.journal import ControllerJournal

_FOREVER_MS: Final = 1 << 50
_SYNC_CHECK_MS: Final = 5_000  # checkSyncStateSetPeriod


class VirtualReplica:
    """A broker of a set. `connection` is its current connection to the Controller."""

    def __init__(self, broker: str, number: int, addr: str) -> None:
        self.broker = broker
        self.number = number
        self.addr = addr
        self.connection = 0

    @property
    def id(self) -> BrokerId:
        return BrokerId("controlled", self.broker, self.number)


class _Recorder:
    """Passes events to the NameServer's journal at the virtual time."""

    def __init__(self, ns: VirtualNameServer) -> None:
        self._ns = ns

    def record(
        self,
        events: Iterable[Event],
        *,
        at_ms: int,
        peer: str | None = None,
        code: int | None = None,
        who: str | None = None,  # noqa: ARG002  brokers of a simulation do not sign
    ) -> int:
        self._ns.record(events, at_ms, peer=peer, code=code)
        return 0


class _Now:
    """The time of the call that is being processed, as a clock."""

    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        return self.ms

    def wall_ms(self) -> int:
        return self.ms


class VirtualController:
    """In the process of one NameServer, alone in its group."""

    def __init__(self, scenario: Scenario, ns: VirtualNameServer, clock: VirtualClock) -> None:
        self._ns = ns
        self._clock = clock
        self._now = _Now()
        self._machine = Machine()
        self._connections = 0
        config = ControllerConfig(
            {
                "controllerDLegerGroup": "simulated",
                "controllerDLegerPeers": f"n0-{ADDRESS}",
                "controllerDLegerSelfId": "n0",
            }
        )
        self._journal = ControllerJournal(_Recorder(ns), config, self._now)
        self.sets = {
            name: [
                VirtualReplica(name, replica, f"127.{64 + at // 200}.{at % 200 + 1}.{replica}:10911")
                for replica in range(1, scenario.controller.replicas + 1)
            ]
            for at, name in enumerate(set_names(scenario))
        }

    def start(self, now_ms: int) -> None:
        """Begin to lead; the brokers of all sets start within half a minute."""
        self._now.ms = now_ms
        self._journal.leads(True, self._machine.sets.values)
        for replicas in self.sets.values():
            begin_ms = now_ms + self._clock.rng.randrange(10_000)
            for turn, replica in enumerate(replicas):
                self._clock.call_at(begin_ms + turn * 1_000, partial(self._join, replica))

    def stop(self, now_ms: int) -> None:
        self._now.ms = now_ms
        self._journal.leads(False, self._machine.sets.values)

    def inject(self, incident: Incident, number: int, now_ms: int) -> Truth:
        """Perform a fault, schedule its end, and return its ground truth."""
        replicas = self.sets.get(incident.broker_set, [])
        state = self._machine.sets.get(incident.broker_set)
        master = next((one for one in replicas if state is not None and one.number == state.master_id), None)
        end_ms = now_ms + incident.lasts_ms
        truth = controller_truth(incident, number, now_ms, ns=self._ns.name, replicas=replicas, master=master)
        match incident.kind:
            case FaultKind.MASTER_KILLED if master is not None:
                self._kill([master], now_ms)
                self._clock.call_at(end_ms, partial(self._join, master))
            case FaultKind.SET_KILLED if master is not None:
                others = [one for one in replicas if one is not master]
                self._kill([*others, master], now_ms)
                for turn, replica in enumerate((master, *others)):
                    self._clock.call_at(end_ms + turn * 1_000, partial(self._join, replica))
            case FaultKind.MASTER_FROZEN | FaultKind.MASTER_CUT if master is not None:
                last_ms = now_ms - self._clock.rng.randrange(BEAT_MS)
                self._beat(master, last_ms, timeout_ms=TIMEOUT_MS)
                self._clock.call_at(self._next_scan_ms(last_ms + TIMEOUT_MS), self._scan)
                self._clock.call_at(end_ms, partial(self._join, master))
            case FaultKind.CONTROLLER_KILLED:
                self._clock.call_at(end_ms, self._lead_again)
        return truth

    # brokers

    def _join(self, replica: VirtualReplica, now_ms: int) -> None:
        """Connect, get or confirm the id, then become master or be taken into the sync-state set."""
        self._now.ms = now_ms
        self._connections += 1
        replica.connection = self._connections
        self._beat(replica, now_ms)
        known = self._machine.sets.get(replica.broker)
        cluster = replica.id.cluster or ""
        if known is None or replica.number not in known.replicas:
            self._ask(ApplyBrokerId(cluster, replica.broker, replica.number, f"{replica.addr};{now_ms}"), replica, 1013)
        self._ask(RegisterBroker(cluster, replica.broker, replica.number, replica.addr), replica, 1003)
        if self._machine.sets[replica.broker].master_id is None:
            self._ask(ElectMaster(replica.broker, replica.number), replica, 1002)
        self._clock.call_at(now_ms + _SYNC_CHECK_MS, partial(self._check_sync, replica.broker))

    def _check_sync(self, broker: str, now_ms: int) -> None:
        """The master reports all live replicas as in sync."""
        self._now.ms = now_ms
        state = self._machine.sets.get(broker)
        if state is None or state.master_id is None:
            return
        alive = tuple(
            one.number for one in self.sets[broker] if one.number in state.replicas and self._is_healthy(one, now_ms)
        )
        if state.master_id in alive and alive != state.sync_state_set:
            request = AlterSyncStateSet(broker, state.master_id, state.master_epoch, alive, state.sync_state_epoch)
            self._ask(request, self.sets[broker][state.master_id - 1], 1001)

    def _kill(self, replicas: Iterable[VirtualReplica], now_ms: int) -> None:
        self._now.ms = now_ms
        for replica in replicas:
            for lost in self._machine.live.connection_lost(replica.connection):
                self._broker_lost(lost, ElectionCause.CLOSED, now_ms)

    def _beat(self, replica: VirtualReplica, now_ms: int, *, timeout_ms: int = _FOREVER_MS) -> None:
        beat = Heartbeat(broker=replica.id, address=replica.addr, timeout_ms=timeout_ms, epoch=0, max_offset=0)
        self._machine.live.heartbeat(beat, connection=replica.connection, now_ms=now_ms)

    def _is_healthy(self, replica: VirtualReplica, now_ms: int) -> bool:
        return self._machine.live.is_alive(replica.id.cluster, replica.broker, replica.number, now_ms=now_ms)

    # the Controller

    def _ask(
        self,
        request: Any,
        replica: VirtualReplica | None = None,
        code: int | None = None,
        *,
        cause: ElectionCause | None = None,
        lost_ms: int | None = None,
    ) -> None:
        origin = Origin(None if replica is None else replica.addr, None, code)
        decision, change = prepare(
            self._machine,
            request,
            now_ms=self._now.ms,
            allow_unclean=False,
            cause=cause,
            lost_ms=lost_ms,
            origin=origin,
        )
        if decision.event is not None:
            self._machine.apply(decision.event)
        if change is not None:
            self._journal.committed(change)
        if isinstance(request, ElectMaster) and request.broker is not None and decision.answer.code == 0:
            self._clock.call_at(self._now.ms + _SYNC_CHECK_MS, partial(self._check_sync, request.broker))
        elif decision.answer.code not in (0, ControllerResponse.MASTER_NOT_AVAILABLE):
            raise AssertionError(f"a simulated broker was rejected: {request} {decision.answer}")

    def _broker_lost(self, lost: BrokerId, cause: ElectionCause, lost_ms: int) -> None:
        if self._machine.is_master(lost) and lost.broker is not None:
            self._ask(ElectMaster(lost.broker), cause=cause, lost_ms=lost_ms)

    def _scan(self, now_ms: int) -> None:
        self._now.ms = now_ms
        for lost, _, last_ms in self._machine.live.expire(now_ms):
            self._broker_lost(lost, ElectionCause.EXPIRED, last_ms)

    def _next_scan_ms(self, after_ms: int) -> int:
        return after_ms + 1 + (-(after_ms + 1 - self._ns.started_ms)) % SCAN_MS

    def _lead_again(self, now_ms: int) -> None:
        self._now.ms = now_ms
        self._journal.leads(True, self._machine.sets.values)
