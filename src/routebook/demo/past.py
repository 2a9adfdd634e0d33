"""The simulated past of the demo: the journals of two NameServers up to now, and a moment worth looking at."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from routebook.fleet.population import Population, build_population
from routebook.fleet.scenario import FaultKind, Scenario, load_scenario
from routebook.fleet.virtual.simulation import TRUTH_FILE, Simulation
from routebook.fleet.virtual.truth import Truth

DAYS: Final = 8
SEED: Final = 3
NAMESERVERS: Final = 2
_PAST: Final = "eventful-days"
_CLIENTS: Final = 12  # enough for look-up figures; more would only take longer
_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 86_400_000


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that had no route, or fewer brokers, at a time in the past, and the broker that was down."""

    topic: str
    broker: str
    at_ms: int


def home_of(folder: Path, number: int) -> Path:
    """The home folder of NameServer `number`, counted from 1."""
    return folder / f"ns-{number}"


def simulate_past(
    folder: Path, live: Scenario, on_progress: Callable[[float], None], *, days: int = DAYS
) -> Moment | None:
    """Create a home folder per NameServer whose journal ends now, with the same brokers and topics as `live`."""
    scenario = msgspec.structs.replace(
        load_scenario(_PAST),
        brokers=msgspec.structs.replace(live.brokers, acting_master="off"),
        topics=live.topics,
        clients=msgspec.structs.replace(live.clients, count=_CLIENTS),
    )
    simulated = folder / "simulated"
    end_ms = time.time_ns() // 1_000_000 // _MINUTE_MS * _MINUTE_MS
    simulation = Simulation(
        scenario,
        days=days,
        seed=SEED,
        nameservers=NAMESERVERS,
        start_ms=end_ms - days * _DAY_MS,
        out=simulated,
    )
    simulation.run(on_progress)
    for number in range(1, NAMESERVERS + 1):
        home = home_of(folder, number)
        home.mkdir(parents=True)
        (simulated / home.name).rename(home / "journal")
        (home / "identity.json").write_bytes(msgspec.json.encode({"ns": home.name}))
    moment = _moment(simulated / TRUTH_FILE, build_population(scenario, SEED))
    shutil.rmtree(simulated)
    return moment


def _moment(truth: Path, population: Population) -> Moment | None:
    """The latest crash that took the only broker of a topic; else the latest crash."""
    only_on = {groups[0]: topic for topic, groups in population.placement.items() if len(groups) == 1}
    alone = {group.name for group in population.groups if len(group.members) == 1}
    found: tuple[bool, Moment] | None = None
    for line in truth.read_bytes().splitlines():
        entry = msgspec.json.decode(line, type=Truth)
        if entry.fault != FaultKind.CRASH or entry.silent or not entry.brokers:
            continue
        broker = entry.brokers[0]
        lost_route = broker in alone and broker in only_on
        if found is not None and found[0] and not lost_route:
            continue
        topic = only_on.get(broker) or next(name for name, where in population.placement.items() if broker in where)
        found = lost_route, Moment(topic=topic, broker=broker, at_ms=(entry.at + entry.until) // 2)
    return None if found is None else found[1]
