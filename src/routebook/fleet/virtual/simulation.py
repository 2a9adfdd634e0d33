"""Days of a fleet in minutes: virtual time, the real core, and the journals and the truth that come of it.

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
from routebook.fleet.incidents import DAY_MS, Incident, make_timetable
from routebook.fleet.population import take_census
from routebook.fleet.randomness import chance
from routebook.fleet.scenario import Scenario
from routebook.fleet.virtual.clock import VirtualTime
from routebook.fleet.virtual.faults import VirtualFaults
from routebook.fleet.virtual.fleet import MINUTE_MS, VirtualFleet
from routebook.fleet.virtual.nameserver import VirtualNameServer
from routebook.fleet.virtual.truth import Terms, tell

MOST_NAMESERVERS: Final = 16
TRUTH_FILE: Final = "truth.jsonl"
_MOST_DAYS: Final = 3660


class SimulationReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    scenario: str
    days: float
    seed: int
    brokers: int
    topics: int
    clients: int
    incidents: dict[str, int]
    left_out: int  # would have collided with others
    records: dict[str, int]  # by NameServer
    text_bytes: int
    disk_bytes: int


class Simulation:
    """`run` does it all."""

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
        self._boots = chance(seed, "boots")
        self._census = take_census(scenario, seed)
        self._timetable = make_timetable(
            scenario, self._census, seed=seed, duration_ms=int(days * DAY_MS), nameservers=nameservers, daily=True
        )
        self._nameservers = [VirtualNameServer(k, out, on_events=self._happened) for k in range(nameservers)]
        self._time = VirtualTime(chance(seed, "network"))
        self._fleet = VirtualFleet(scenario, self._census, self._nameservers, self._time, seed=seed, start_ms=start_ms)
        self._faults = VirtualFaults(self._fleet, start_ms=start_ms, boot=self._boot)

    def run(self, progress: Callable[[float], None] | None = None) -> SimulationReport:
        """Go through all of it. `progress` hears every hour of it which part is done."""
        start_ms, end_ms, time = self._start_ms, self._end_ms, self._time
        for ns in self._nameservers:
            ns.start(start_ms, boot=self._boot())
        for broker in self._fleet.brokers:
            time.at(start_ms + time.draw.randrange(MINUTE_MS // 2), partial(self._fleet.begin, broker))
        time.at(start_ms + MINUTE_MS, self._fleet.turn_minutes)
        with (self._out / TRUTH_FILE).open("wb") as truth:
            for number, incident in enumerate(self._timetable.incidents, 1):
                time.at(start_ms + incident.at_ms, partial(self._befall, incident, number, truth))
            on_hour = None if progress is None else lambda now: progress((now - start_ms) / (end_ms - start_ms))
            time.run_until(end_ms, on_hour)
        for ns in self._nameservers:
            if ns.core is not None:
                self._faults.stop_nameserver(ns, end_ms)
            ns.journal.close()
        return self._report()

    def _befall(self, incident: Incident, number: int, truth: BinaryIO, now_ms: int) -> None:
        promoted = self._faults.befall(incident, now_ms)
        told = tell(incident, number, start_ms=self._start_ms, terms=self._terms(), switched_to=promoted)
        truth.write(msgspec.json.encode(told) + b"\n")

    def _terms(self) -> Terms:
        preservation = self._nameservers[0].settings.preservation
        brokers = len(self._fleet.brokers)
        return Terms(
            nameservers=tuple(ns.name for ns in self._nameservers),
            beat_ms=self._fleet.beat_ms,
            register_ms=self._fleet.register_ms,
            timeout_ms=NOT_ACTIVE_MS if self._fleet.acting else DEFAULT_HEARTBEAT_TIMEOUT_MS,
            scan_ms=self._nameservers[0].scan_ms,
            preserve_from=max(preservation.minimum, brokers * preservation.share // 100 + 1),
        )

    def _happened(self, ns: VirtualNameServer, events: tuple[Event, ...], now_ms: int) -> None:
        self._fleet.happened(ns, events, now_ms)

    def _boot(self) -> str:
        return f"{self._boots.getrandbits(48):012x}"

    def _report(self) -> SimulationReport:
        kinds: dict[str, int] = {}
        for incident in self._timetable.incidents:
            kinds[str(incident.kind)] = kinds.get(str(incident.kind), 0) + 1
        files = [path for ns in self._nameservers for path in ns.journal.folder.iterdir()]
        return SimulationReport(
            scenario=self._scenario.name,
            days=self._days,
            seed=self._seed,
            brokers=len(self._fleet.brokers),
            topics=len(self._census.placement),
            clients=len(self._census.clients),
            incidents=dict(sorted(kinds.items())),
            left_out=self._timetable.left_out,
            records={ns.name: ns.journal.seq for ns in self._nameservers},
            text_bytes=sum(ns.journal.text_bytes for ns in self._nameservers),
            disk_bytes=sum(path.stat().st_size for path in files),
        )


def _check(days: float, nameservers: int, start_ms: int, out: Path) -> None:
    if not 0 < days <= _MOST_DAYS:
        raise UsageError(f"{days:g} days: give more than nothing, and at most {_MOST_DAYS}")
    if not 1 <= nameservers <= MOST_NAMESERVERS:
        raise UsageError(f"{nameservers} NameServers: give 1 to {MOST_NAMESERVERS}")
    if start_ms % MINUTE_MS:
        raise UsageError("the start is to be a full minute")
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(f"{out} is not an empty folder: name one that is, or that does not exist yet")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror or error}") from None
