"""A fleet over TCP, from its first broker to its report: real protocol, real time or faster, faults on a timetable."""

import asyncio
import contextlib
import resource
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import msgspec

from routebook.client.addresses import Address
from routebook.client.client import NameServerClient
from routebook.client.signing import Credentials
from routebook.fleet.broker_requests import BrokerVoice
from routebook.fleet.incidents import Incident, make_timetable
from routebook.fleet.live.broker import LiveBroker
from routebook.fleet.live.broker_port import BrokerPort
from routebook.fleet.live.client import LiveClient
from routebook.fleet.live.connection import LiveLine
from routebook.fleet.live.faults import LiveFaults, Restart
from routebook.fleet.live.observations import Sightings
from routebook.fleet.live.pace import Pace
from routebook.fleet.live.report import FaultDone, FleetReport
from routebook.fleet.live.traffic import Traffic
from routebook.fleet.population import PORT, Census, Member, take_census
from routebook.fleet.randomness import chance
from routebook.fleet.scenario import Scenario
from routebook.model import TopicConfig
from routebook.wire.command import SerializeType

_BROKERS_PER_S: Final = 200  # that start, at the beginning
_FAREWELL_S: Final = 10.0
_LATEST: Final = 8


class FleetStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How it goes, for whoever looks on."""

    elapsed_s: float  # of the fleet's time
    duration_s: float
    up: int
    frozen: int
    down: int
    clients: int
    without_route: int
    requests: int
    timeouts: int
    failures: int
    latest: tuple[FaultDone, ...]


class FleetRun:
    """`await run()`; it ends when the time is over, or soon after `stop()`."""

    def __init__(
        self,
        scenario: Scenario,
        addresses: Sequence[Address],
        *,
        seed: int,
        duration_ms: int | None = None,
        scale: float = 1.0,
        restart: Restart | None = None,
        on_fault: Callable[[FaultDone], None] | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        """`credentials` are those of all brokers and clients, where the NameServers want signed requests."""
        self.scenario = scenario
        self._credentials = credentials
        self.addresses = tuple(addresses)
        self._seed = seed
        self._pace = Pace(scale)
        self._duration_ms = int(scenario.duration if duration_ms is None else duration_ms)
        self._restart = restart
        self._on_fault = on_fault
        self._census: Census = take_census(scenario, seed)
        self._timetable = make_timetable(
            scenario,
            self._census,
            seed=seed,
            duration_ms=self._duration_ms,
            nameservers=len(self.addresses),
            daily=False,
        )
        self._traffic = Traffic()
        self._sightings = Sightings()
        self._brokers: list[LiveBroker] = []
        self._done: list[FaultDone] = []
        self._latest: deque[FaultDone] = deque(maxlen=_LATEST)
        self._left_out = self._timetable.left_out
        self._unheard = 0
        self._stop = asyncio.Event()
        self._began = 0.0

    def stop(self) -> None:
        """End it now, in order."""
        self._stop.set()

    async def run(self) -> FleetReport:
        """All of it. Raises ConnectionFailed if no NameServer answers at the beginning."""
        async with NameServerClient(self.addresses, credentials=self._credentials) as first:
            await first.cluster_info()
        _raise_file_limit()
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        self._brokers = [
            self._broker(member, group.topics) for group in self._census.groups for member in group.members
        ]
        try:
            async with asyncio.TaskGroup() as tasks:
                working = [tasks.create_task(work) for work in (self._clients(), self._incidents(), *self._starts())]
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._pace.s(self._duration_ms)):
                        await self._stop.wait()
                lasted_s = loop.time() - self._began
                for task in working:
                    task.cancel()
        finally:
            await self._farewell()
        return self._report(lasted_s)

    def status(self) -> FleetStatus:
        """How it goes."""
        up = sum(broker.is_up for broker in self._brokers)
        frozen = sum(broker.is_frozen for broker in self._brokers)
        elapsed_s = (asyncio.get_running_loop().time() - self._began) * self._pace.scale if self._began else 0.0
        return FleetStatus(
            elapsed_s=elapsed_s,
            duration_s=self._duration_ms / 1000,
            up=up - frozen,
            frozen=frozen,
            down=len(self._brokers) - up,
            clients=len(self._census.clients),
            without_route=self._sightings.without_route(),
            requests=self._traffic.total,
            timeouts=self._traffic.timeouts,
            failures=self._traffic.failures,
            latest=tuple(self._latest),
        )

    # its parts

    def _broker(self, member: Member, topics: Sequence[TopicConfig]) -> LiveBroker:
        terms = self.scenario.brokers
        form = SerializeType.ROCKETMQ if terms.header == "binary" else SerializeType.JSON
        lines = [
            LiveLine(
                address,
                pace=self._pace,
                traffic=self._traffic,
                serialize_type=form,
                credentials=self._credentials,
            )
            for address in self.addresses
        ]
        return LiveBroker(
            BrokerVoice(member, terms, topics, now_ms=_now_ms(), scale=self._pace.scale),
            terms,
            lines,
            pace=self._pace,
            draw=chance(self._seed, f"broker {member.number}"),
            port=BrokerPort() if terms.listen else None,
        )

    def _starts(self) -> list[Coroutine[Any, Any, None]]:
        return [self._start(broker, number / _BROKERS_PER_S) for number, broker in enumerate(self._brokers)]

    async def _start(self, broker: LiveBroker, after_s: float) -> None:
        await asyncio.sleep(after_s)
        if broker.port is not None:
            try:
                await broker.port.start(broker.voice.member.host, PORT)
            except OSError:  # taken, or no such address on this system: it is there all the same
                self._unheard += 1
        await broker.start()

    async def _clients(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for client in self._census.clients:
                live = LiveClient(
                    client,
                    self.addresses,
                    poll_ms=self.scenario.clients.poll_every,
                    pace=self._pace,
                    traffic=self._traffic,
                    sightings=self._sightings,
                    credentials=self._credentials,
                )
                tasks.create_task(live.run())

    async def _incidents(self) -> None:
        faults = LiveFaults(
            self._brokers,
            self.addresses,
            pace=self._pace,
            now_ms=_now_ms,
            restart=self._restart,
            credentials=self._credentials,
        )
        async with asyncio.TaskGroup() as tasks:
            for incident in self._timetable.incidents:
                wait_s = self._began + self._pace.s(incident.at_ms) - asyncio.get_running_loop().time()
                await asyncio.sleep(max(0.0, wait_s))
                if not faults.is_possible(incident):
                    self._left_out += 1
                    continue
                self._note(incident)
                tasks.create_task(faults.befall(incident))

    def _note(self, incident: Incident) -> None:
        done = FaultDone(
            at_s=incident.at_ms / 1000,
            kind=str(incident.kind) + (" (silent)" if incident.silent else ""),
            target=_target(incident, self.addresses),
            lasts_s=incident.lasts_ms / 1000,
        )
        self._done.append(done)
        self._latest.append(done)
        if self._on_fault is not None:
            self._on_fault(done)

    async def _farewell(self) -> None:
        """Brokers that can say goodbye do, so that no NameServer is left with them; but nobody is waited for long."""
        leaving = [broker for broker in self._brokers if broker.is_heard]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL_S):
                await asyncio.gather(*(broker.stop(linger=False) for broker in leaving))
        await asyncio.gather(*(broker.close() for broker in self._brokers))
        for broker in self._brokers:
            if broker.problem is not None:
                raise broker.problem

    def _report(self, lasted_s: float) -> FleetReport:
        scale = self._pace.scale
        seen = [
            msgspec.structs.replace(
                one,
                without_route_s=one.without_route_s * scale,
                longest_s=one.longest_s * scale,
                without_queue_s=one.without_queue_s * scale,
            )
            for one in self._sightings.report(self._began + lasted_s)
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
            clients=len(self._census.clients),
            requests={str(int(code)): count for code, count in sorted(self._traffic.requests.items())},
            answers={str(int(code)): count for code, count in sorted(self._traffic.answers.items())},
            timeouts=self._traffic.timeouts,
            failures=self._traffic.failures,
            lookups=sum(one.lookups for one in seen),
            misses=sum(one.misses for one in seen),
            errors=sum(one.errors for one in seen),
            topics_without_route=sum(one.without_route_s > 0 for one in seen),
            without_route_s=max((one.without_route_s for one in seen), default=0.0),
            faults=tuple(self._done),
            left_out=self._left_out,
            topics=tuple(seen),
        )


def _target(incident: Incident, addresses: Sequence[Address]) -> str:
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
    """A thousand brokers have several thousand connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
