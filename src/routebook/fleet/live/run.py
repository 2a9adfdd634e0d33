"""Runs a simulated fleet over TCP: starts brokers and clients, injects faults, and returns a report."""

import asyncio
import contextlib
import resource
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec

from routebook.client.addresses import Address
from routebook.client.client import NameServerClient
from routebook.client.signing import Credentials
from routebook.fleet.broker_requests import BrokerRequests
from routebook.fleet.incidents import Incident, build_schedule
from routebook.fleet.live.broker import LiveBroker
from routebook.fleet.live.broker_port import BrokerPort
from routebook.fleet.live.client import LiveClient
from routebook.fleet.live.connection import LiveConnection, TrafficCounters
from routebook.fleet.live.controlled_sets import ControlledSets, SetReport
from routebook.fleet.live.faults import LiveFaults, Restart
from routebook.fleet.live.observations import Observations
from routebook.fleet.live.report import FaultRecord, FleetReport
from routebook.fleet.live.time_scale import TimeScale
from routebook.fleet.population import PORT, Member, Population, build_population
from routebook.fleet.randomness import random_stream
from routebook.fleet.scenario import CONTROLLER_FAULTS, CONTROLLER_OUTAGES, FaultKind, Scenario
from routebook.model import TopicConfig
from routebook.wire.command import SerializeType

Outage: TypeAlias = Callable[[FaultKind, float], Coroutine[Any, Any, None]]

_BROKER_STARTS_PER_S: Final = 200
_UNREGISTER_TIMEOUT_S: Final = 10.0
_MAX_LATEST: Final = 8


class FleetStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The current status, for the terminal view."""

    elapsed_s: float  # fleet time
    duration_s: float
    up: int
    frozen: int
    down: int
    clients: int
    without_route: int
    requests: int
    timeouts: int
    failures: int
    latest: tuple[FaultRecord, ...]


class FleetRun:
    """`await run()` ends after the duration, or soon after `stop()`."""

    def __init__(
        self,
        scenario: Scenario,
        addresses: Sequence[Address],
        *,
        seed: int,
        duration_ms: int | None = None,
        scale: float = 1.0,
        restart: Restart | None = None,
        on_fault: Callable[[FaultRecord], None] | None = None,
        credentials: Credentials | None = None,
        controllers: Sequence[Address] = (),
        outage: Outage | None = None,
    ) -> None:
        """`outage(kind, seconds)` injects a fault of the Controller's processes, which the fleet does not own.

        `controllers` are the nodes of a Controller; without them the sets of the scenario do not start.

        `credentials` sign the requests of all brokers and clients, if the NameServers require it.
        """
        self.scenario = scenario
        self._controllers = tuple(controllers)
        self._sets: ControlledSets | None = None
        self._credentials = credentials
        self.addresses = tuple(addresses)
        self._seed = seed
        self._time_scale = TimeScale(scale)
        self._duration_ms = int(scenario.duration if duration_ms is None else duration_ms)
        self._restart = restart
        self._outage = outage
        self._on_fault = on_fault
        self._population: Population = build_population(scenario, seed)
        self._schedule = build_schedule(
            scenario,
            self._population,
            seed=seed,
            duration_ms=self._duration_ms,
            nameservers=len(self.addresses),
            daily=False,
        )
        self._traffic = TrafficCounters()
        self._observations = Observations()
        self._brokers: list[LiveBroker] = []
        self._faults: list[FaultRecord] = []
        self._latest: deque[FaultRecord] = deque(maxlen=_MAX_LATEST)
        self._left_out = self._schedule.left_out
        self._unheard = 0
        self._set_report = SetReport()
        self._stop = asyncio.Event()
        self._began = 0.0

    def stop(self) -> None:
        """End the run cleanly."""
        self._stop.set()

    async def run(self) -> FleetReport:
        """Run to the end. Raises ConnectionFailed if no NameServer answers at the start."""
        async with NameServerClient(self.addresses, credentials=self._credentials) as first:
            await first.cluster_info()
        _raise_file_limit()
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        self._brokers = [
            self._broker(member, group.topics) for group in self._population.groups for member in group.members
        ]
        if self._controllers and self.scenario.controller.sets:
            self._sets = ControlledSets(
                self.scenario, partial(self._connections, self._controllers), time_scale=self._time_scale
            )
        try:
            async with asyncio.TaskGroup() as tasks:
                working = [tasks.create_task(work) for work in (self._clients(), self._incidents(), *self._starts())]
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._time_scale.seconds(self._duration_ms)):
                        await self._stop.wait()
                lasted_s = loop.time() - self._began
                for task in working:
                    task.cancel()
        finally:
            await self._stop_brokers()
        return self._report(lasted_s)

    def status(self) -> FleetStatus:
        """Return the current status."""
        up = sum(broker.is_up for broker in self._brokers)
        frozen = sum(broker.is_frozen for broker in self._brokers)
        elapsed_s = (asyncio.get_running_loop().time() - self._began) * self._time_scale.scale if self._began else 0.0
        return FleetStatus(
            elapsed_s=elapsed_s,
            duration_s=self._duration_ms / 1000,
            up=up - frozen,
            frozen=frozen,
            down=len(self._brokers) - up,
            clients=len(self._population.clients),
            without_route=self._observations.without_route(),
            requests=self._traffic.total,
            timeouts=self._traffic.timeouts,
            failures=self._traffic.failures,
            latest=tuple(self._latest),
        )

    # brokers, clients, faults

    def _broker(self, member: Member, topics: Sequence[TopicConfig]) -> LiveBroker:
        terms = self.scenario.brokers
        form = SerializeType.ROCKETMQ if terms.header == "binary" else SerializeType.JSON
        connections = self._connections(self.addresses, form)
        return LiveBroker(
            BrokerRequests(member, terms, topics, now_ms=_now_ms(), scale=self._time_scale.scale),
            terms,
            connections,
            time_scale=self._time_scale,
            rng=random_stream(self._seed, f"broker {member.number}"),
            port=BrokerPort() if terms.listen else None,
        )

    def _connections(
        self, addresses: Sequence[Address], form: SerializeType = SerializeType.JSON
    ) -> list[LiveConnection]:
        return [
            LiveConnection(
                address,
                time_scale=self._time_scale,
                traffic=self._traffic,
                serialize_type=form,
                credentials=self._credentials,
            )
            for address in addresses
        ]

    def _starts(self) -> list[Coroutine[Any, Any, None]]:
        starts = [self._start(broker, number / _BROKER_STARTS_PER_S) for number, broker in enumerate(self._brokers)]
        return starts if self._sets is None else [*starts, self._sets.start()]

    async def _start(self, broker: LiveBroker, after_s: float) -> None:
        await asyncio.sleep(after_s)
        if broker.port is not None:
            try:
                await broker.port.start(broker.requests.member.host, PORT)
            except OSError:  # port in use, or no such address on this system: the broker runs without its port
                self._unheard += 1
        await broker.start()

    async def _clients(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for client in self._population.clients:
                live = LiveClient(
                    client,
                    self.addresses,
                    poll_ms=self.scenario.clients.poll_every,
                    time_scale=self._time_scale,
                    traffic=self._traffic,
                    observations=self._observations,
                    credentials=self._credentials,
                )
                tasks.create_task(live.run())

    async def _incidents(self) -> None:
        faults = LiveFaults(
            self._brokers,
            self.addresses,
            time_scale=self._time_scale,
            now_ms=_now_ms,
            restart=self._restart,
            credentials=self._credentials,
        )
        async with asyncio.TaskGroup() as tasks:
            for incident in self._schedule.incidents:
                wait_s = self._began + self._time_scale.seconds(incident.at_ms) - asyncio.get_running_loop().time()
                await asyncio.sleep(max(0.0, wait_s))
                if incident.kind in CONTROLLER_FAULTS:
                    injected = self._inject_into_controller(incident)
                    if injected is None:
                        self._left_out += 1
                        continue
                    self._record(incident)
                    tasks.create_task(injected)
                    continue
                if not faults.is_possible(incident):
                    self._left_out += 1
                    continue
                self._record(incident)
                tasks.create_task(faults.inject(incident))

    def _inject_into_controller(self, incident: Incident) -> Coroutine[Any, Any, None] | None:
        if self._sets is None:
            return None
        if incident.kind not in CONTROLLER_OUTAGES:
            return self._sets.inject(incident)
        return self._outage and self._outage(incident.kind, self._time_scale.seconds(incident.lasts_ms))

    def _record(self, incident: Incident) -> None:
        fault = FaultRecord(
            at_s=incident.at_ms / 1000,
            kind=str(incident.kind) + (" (silent)" if incident.silent else ""),
            target=_target(incident, self.addresses),
            lasts_s=incident.lasts_ms / 1000,
        )
        self._faults.append(fault)
        self._latest.append(fault)
        if self._on_fault is not None:
            self._on_fault(fault)

    async def _stop_brokers(self) -> None:
        """Unregister all brokers that can send, so that no NameServer keeps them, and close everything."""
        sending = [broker for broker in self._brokers if broker.can_send]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_UNREGISTER_TIMEOUT_S):
                await asyncio.gather(*(broker.stop(linger=False) for broker in sending))
        await asyncio.gather(*(broker.close() for broker in self._brokers))
        if self._sets is not None:
            self._set_report = self._sets.report()
            await self._sets.close()
        for broker in self._brokers:
            if broker.problem is not None:
                raise broker.problem

    def _report(self, lasted_s: float) -> FleetReport:
        scale = self._time_scale.scale
        seen = [
            msgspec.structs.replace(
                one,
                without_route_s=one.without_route_s * scale,
                longest_s=one.longest_s * scale,
                without_queue_s=one.without_queue_s * scale,
            )
            for one in self._observations.report(self._began + lasted_s)
        ]
        return FleetReport(
            scenario=self.scenario.name,
            seed=self._seed,
            nameservers=tuple(map(str, self.addresses)),
            time_scale=scale,
            lasted_s=lasted_s * scale,
            brokers=len(self._brokers),
            registrations=sum(broker.registered for broker in self._brokers),
            refused=sum(broker.refused for broker in self._brokers),
            unheard=self._unheard,
            clients=len(self._population.clients),
            requests={str(int(code)): count for code, count in sorted(self._traffic.requests.items())},
            answers={str(int(code)): count for code, count in sorted(self._traffic.answers.items())},
            timeouts=self._traffic.timeouts,
            failures=self._traffic.failures,
            lookups=sum(one.lookups for one in seen),
            misses=sum(one.misses for one in seen),
            errors=sum(one.errors for one in seen),
            topics_without_route=sum(one.without_route_s > 0 for one in seen),
            without_route_s=max((one.without_route_s for one in seen), default=0.0),
            sets=self._set_report,
            faults=tuple(self._faults),
            left_out=self._left_out,
            topics=tuple(seen),
        )


def _target(incident: Incident, addresses: Sequence[Address]) -> str:
    if incident.broker_set:
        return incident.broker_set
    names = list(dict.fromkeys(f"{member.broker}/{member.broker_id}" for member in incident.members))
    text = names[0] if len(names) == 1 else f"{len(names)} brokers" if names else ""
    if incident.change is not None:
        what = "deleted" if incident.change.deleted else "created" if incident.change.created else "changed"
        return f"{incident.change.topic.topic_name} {what} on {text}"
    if incident.nameserver is not None:
        where = str(addresses[incident.nameserver])
        return f"{text} from {where}" if text else where
    return text


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _raise_file_limit() -> None:
    """Raise the file descriptor limit: a thousand brokers need several thousand connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
