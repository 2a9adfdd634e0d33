"""Simulates days of a fleet in minutes with the real core in virtual time; writes journals and the ground truth.

The same seed gives the same files, byte for byte.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from routebook.codes import DEFAULT_HEARTBEAT_TIMEOUT_MS
from routebook.errors import UsageError
from routebook.events import Event
from routebook.fleet.broker_requests import NOT_ACTIVE_MS
from routebook.fleet.incidents import DAY_MS, Incident, build_schedule
from routebook.fleet.population import build_population
from routebook.fleet.randomness import random_stream
from routebook.fleet.scenario import CONTROLLER_FAULTS, Scenario
from routebook.fleet.virtual.clock import VirtualClock
from routebook.fleet.virtual.controller import VirtualController
from routebook.fleet.virtual.faults import VirtualFaults
from routebook.fleet.virtual.fleet import MINUTE_MS, VirtualFleet
from routebook.fleet.virtual.nameserver import VirtualNameServer
from routebook.fleet.virtual.truth import Timing, truth_of

MAX_NAMESERVERS: Final = 16
TRUTH_FILE: Final = "truth.jsonl"
MAX_DAYS: Final = 3660


class SimulationReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a simulation."""

    scenario: str
    days: float
    seed: int
    brokers: int
    topics: int
    clients: int
    incidents: dict[str, int]
    left_out: int  # incidents that would have overlapped
    records: dict[str, int]  # by NameServer
    text_bytes: int
    disk_bytes: int


class Simulation:
    """One simulation; call `run` once."""

    def __init__(
        self, scenario: Scenario, *, days: float, seed: int, nameservers: int, start_ms: int, out: Path
    ) -> None:
        """Raises UsageError if `out` is not an empty folder."""
        _check(days, nameservers, start_ms, out)
        self._scenario = scenario
        self._days = days
        self._seed = seed
        self._start_ms = start_ms
        self._end_ms = start_ms + int(days * DAY_MS)
        self._out = out
        self._boots = random_stream(seed, "boots")
        self._population = build_population(scenario, seed)
        self._schedule = build_schedule(
            scenario, self._population, seed=seed, duration_ms=int(days * DAY_MS), nameservers=nameservers, daily=True
        )
        self._nameservers = [VirtualNameServer(k, out, on_events=self._on_events) for k in range(nameservers)]
        self._clock = VirtualClock(random_stream(seed, "network"))
        self._fleet = VirtualFleet(
            scenario, self._population, self._nameservers, self._clock, seed=seed, start_ms=start_ms
        )
        self._controller = VirtualController(scenario, self._nameservers[0], self._clock)
        self._faults = VirtualFaults(self._fleet, start_ms=start_ms, boot=self._boot)

    def run(self, on_progress: Callable[[float], None] | None = None) -> SimulationReport:
        """Run the simulation. `on_progress` receives the finished share, once per simulated hour."""
        start_ms, end_ms, clock = self._start_ms, self._end_ms, self._clock
        for ns in self._nameservers:
            ns.start(start_ms, boot=self._boot())
        if self._controller.sets:
            self._controller.start(start_ms)
        for broker in self._fleet.brokers:
            clock.call_at(start_ms + clock.rng.randrange(MINUTE_MS // 2), partial(self._fleet.start_broker, broker))
        clock.call_at(start_ms + MINUTE_MS, self._fleet.end_minutes)
        with (self._out / TRUTH_FILE).open("wb") as truth:
            for number, incident in enumerate(self._schedule.incidents, 1):
                clock.call_at(start_ms + incident.at_ms, partial(self._inject, incident, number, truth))
            on_hour = None if on_progress is None else lambda now: on_progress((now - start_ms) / (end_ms - start_ms))
            clock.run_until(end_ms, on_hour)
        if self._controller.sets:
            self._controller.stop(end_ms)
        for ns in self._nameservers:
            if ns.core is not None:
                self._faults.stop_nameserver(ns, end_ms)
            ns.journal.close()
        return self._report()

    def _inject(self, incident: Incident, number: int, truth: BinaryIO, now_ms: int) -> None:
        if incident.kind in CONTROLLER_FAULTS:
            entry = self._controller.inject(incident, number, now_ms)
        else:
            promoted = self._faults.inject(incident, now_ms)
            entry = truth_of(incident, number, start_ms=self._start_ms, timing=self._timing(), new_master=promoted)
        truth.write(msgspec.json.encode(entry.before(self._end_ms)) + b"\n")

    def _timing(self) -> Timing:
        return Timing(
            nameservers=tuple(ns.name for ns in self._nameservers),
            beat_ms=self._fleet.beat_ms,
            register_ms=self._fleet.register_ms,
            timeout_ms=NOT_ACTIVE_MS if self._fleet.acting else DEFAULT_HEARTBEAT_TIMEOUT_MS,
            scan_ms=self._nameservers[0].scan_ms,
            members=tuple(broker.requests.member for broker in self._fleet.brokers),
            protection=self._nameservers[0].settings.expiry_protection,
        )

    def _on_events(self, ns: VirtualNameServer, events: tuple[Event, ...], now_ms: int) -> None:
        self._fleet.on_events(ns, events, now_ms)

    def _boot(self) -> str:
        return f"{self._boots.getrandbits(48):012x}"

    def _report(self) -> SimulationReport:
        kinds: dict[str, int] = {}
        for incident in self._schedule.incidents:
            kinds[str(incident.kind)] = kinds.get(str(incident.kind), 0) + 1
        files = [path for ns in self._nameservers for path in ns.journal.folder.iterdir()]
        return SimulationReport(
            scenario=self._scenario.name,
            days=self._days,
            seed=self._seed,
            brokers=len(self._fleet.brokers),
            topics=len(self._population.placement),
            clients=len(self._population.clients),
            incidents=dict(sorted(kinds.items())),
            left_out=self._schedule.left_out,
            records={ns.name: ns.journal.seq for ns in self._nameservers},
            text_bytes=sum(ns.journal.text_bytes for ns in self._nameservers),
            disk_bytes=sum(path.stat().st_size for path in files),
        )


def _check(days: float, nameservers: int, start_ms: int, out: Path) -> None:
    if not 0 < days <= MAX_DAYS:
        raise UsageError(f"{days:g} days: must be greater than 0 and at most {MAX_DAYS}")
    if not 1 <= nameservers <= MAX_NAMESERVERS:
        raise UsageError(f"{nameservers} NameServers: must be 1 to {MAX_NAMESERVERS}")
    if start_ms % MINUTE_MS:
        raise UsageError("the start time must be a full minute")
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(f"{out} is not an empty folder: pass an empty or a new folder")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}") from None
