"""The schedule of incidents: a scenario's faults with their times, targets and details, drawn from the seed. Pure.

A broker has one incident at a time, with time to recover before the next, and brokers have none around the restart of a
NameServer: so the visible effect of each incident is known exactly. Incidents that would overlap are left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Final

import msgspec

from routebook.codes import DEFAULT_HEARTBEAT_TIMEOUT_MS
from routebook.errors import UsageError
from routebook.fleet.broker_requests import NOT_ACTIVE_MS, BrokerRequests
from routebook.fleet.population import Group, Member, Population
from routebook.fleet.randomness import random_stream
from routebook.fleet.scenario import CONTROLLER_FAULTS, CONTROLLER_OUTAGES, Fault, FaultKind, Scenario
from routebook.model import TopicConfig

DAY_MS: Final = 86_400_000
RECOVERY_MS: Final = 200_000  # the default heartbeat timeout, a scan, a registration period, and a margin
_TOPIC_CHANGE_MS: Final = 1_000  # other changes of the group wait this long, so that the order of events is defined
_FIRST_MS: Final = 120_000  # no random faults before all brokers have started


class TopicChange(msgspec.Struct, frozen=True, kw_only=True):
    """A topic is created or changed on these groups, or deleted everywhere."""

    topic: TopicConfig
    groups: tuple[str, ...]
    deleted: bool = False
    created: bool = False


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that happens `at_ms` after the start."""

    kind: FaultKind
    at_ms: int
    lasts_ms: int
    members: tuple[Member, ...] = ()
    nameserver: int | None = None  # index
    silent: bool = False
    delay_ms: int = 0
    downs: tuple[tuple[int, int], ...] = ()  # flap: times of crash and return, after the start
    change: TopicChange | None = None
    broker_set: str = ""  # of the Controller

    @property
    def until_ms(self) -> int:
        return self.at_ms + self.lasts_ms


class Schedule(msgspec.Struct, frozen=True):
    """All incidents in order, and the number left out because they would overlap."""

    incidents: tuple[Incident, ...]
    left_out: int


def build_schedule(
    scenario: Scenario, population: Population, *, seed: int, duration_ms: int, nameservers: int, daily: bool
) -> Schedule:
    """Draw the schedule. With `daily`, faults with a time repeat every day from the scenario's `daily_at` on."""
    builder = _ScheduleBuilder(
        scenario, population, seed=seed, duration_ms=duration_ms, nameservers=nameservers, daily=daily
    )
    return builder.build()


def set_names(scenario: Scenario) -> list[str]:
    """The broker sets of the Controller."""
    return [f"set-{number:03}" for number in range(1, scenario.controller.sets + 1)]


def apply_topic_change(members: Iterable[BrokerRequests], change: TopicChange, now_ms: int) -> None:
    """Apply a change to the brokers of one group: the master changes, the slaves copy it."""
    master, *slaves = sorted(members, key=lambda requests: requests.broker_id)
    if change.deleted:
        master.delete_topics([change.topic.topic_name], now_ms)
    else:
        master.put_topics([change.topic], now_ms)
    for slave in slaves:
        slave.sync_from(master)


class _ScheduleBuilder:
    def __init__(
        self, scenario: Scenario, population: Population, *, seed: int, duration_ms: int, nameservers: int, daily: bool
    ) -> None:
        self._scenario = scenario
        self._population = population
        self._seed = seed
        self._duration_ms = duration_ms
        self._nameservers = nameservers
        self._daily = daily
        self._busy_until: dict[int, int] = {}  # by member number
        self._restarts: list[tuple[int, int]] = []
        self._created: list[TopicChange] = []  # topics created by churn and not deleted yet
        self._names = 0
        self._turns: dict[int, int] = {}  # per fault with target "each"
        self._set_busy_until: dict[str, int] = {}
        self._left_out = 0

    def build(self) -> Schedule:
        faults = list(enumerate(self._scenario.fault))
        restarts = [entry for entry in faults if entry[1].kind is FaultKind.RESTART]
        others = [entry for entry in faults if entry not in restarts]
        incidents: list[Incident] = []
        for at_ms, number, fault in (*self._occurrences(restarts), *self._occurrences(others)):
            incidents += self._incident(at_ms, number, fault)
        incidents.sort(key=lambda incident: incident.at_ms)
        return Schedule(tuple(incidents), self._left_out)

    def _occurrences(self, faults: Iterable[tuple[int, Fault]]) -> list[tuple[int, int, Fault]]:
        times = [(at_ms, number, fault) for number, fault in faults for at_ms in self._times(number, fault)]
        return sorted(times, key=lambda time: time[:2])

    def _times(self, number: int, fault: Fault) -> Iterator[int]:
        if fault.per_day is not None:
            rng = random_stream(self._seed, f"times {number}")
            at_ms = float(min(_FIRST_MS, self._duration_ms // 4))
            while (at_ms := at_ms + rng.expovariate(fault.per_day / DAY_MS)) < self._duration_ms:
                yield int(at_ms)
            return
        starts = range(self._scenario.daily_at, self._duration_ms, DAY_MS) if self._daily else (0,)
        for start_ms in starts:
            for turn in range(self._repetitions(fault)):
                at_ms = start_ms + (fault.at or 0) + turn * (fault.every or 0)
                if at_ms < self._duration_ms:
                    yield at_ms

    def _repetitions(self, fault: Fault) -> int:
        if fault.every is None:
            return 1
        if fault.times is not None:
            return fault.times
        if fault.target == "each":
            return len(self._population.members)
        return max(1, (self._scenario.duration - (fault.at or 0) - 1) // fault.every + 1)

    def _incident(self, at_ms: int, number: int, fault: Fault) -> list[Incident]:
        rng = random_stream(self._seed, f"fault {number} at {at_ms}")
        if fault.kind is FaultKind.RESTART:
            return self._restart(at_ms, fault, rng)
        lasts_ms = 0 if fault.kind in {FaultKind.CHURN, FaultKind.SWITCH} else int(fault.lasts)
        if self._near_a_restart(at_ms, at_ms + lasts_ms) or self._ends_too_late(at_ms + lasts_ms):
            self._left_out += 1
            return []
        if fault.kind is FaultKind.CHURN:
            return self._churn(at_ms, rng)
        if fault.kind in CONTROLLER_FAULTS:
            return self._controller(at_ms, fault, rng)
        members = self._targets(at_ms, number, fault, rng)
        if not members:
            self._left_out += 1
            return []
        for member in members:
            self._busy_until[member.number] = at_ms + lasts_ms + RECOVERY_MS
        return [
            Incident(
                kind=fault.kind,
                at_ms=at_ms,
                lasts_ms=lasts_ms,
                members=members,
                nameserver=self._nameserver(fault, rng) if fault.kind is FaultKind.CUT else None,
                silent=fault.silent,
                delay_ms=min(int(fault.delay), self._max_delay_ms()) if fault.kind is FaultKind.SLOW else 0,
                downs=_flaps(at_ms, lasts_ms, fault) if fault.kind is FaultKind.FLAP else (),
            )
        ]

    def _ends_too_late(self, until_ms: int) -> bool:
        """In virtual time every incident ends within the simulation, so that its ground truth is complete."""
        return self._daily and until_ms > self._duration_ms

    def _max_delay_ms(self) -> int:
        """A slow broker keeps its lease."""
        terms = self._scenario.brokers
        if terms.acting_master != "off":
            return NOT_ACTIVE_MS * 2 // 3
        return max(0, (DEFAULT_HEARTBEAT_TIMEOUT_MS - terms.register_every) * 2 // 3)

    # NameServers

    def _restart(self, at_ms: int, fault: Fault, rng: Random) -> list[Incident]:
        until_ms = at_ms + int(fault.lasts)
        if self._near_a_restart(at_ms, until_ms) or self._ends_too_late(until_ms + RECOVERY_MS):
            self._left_out += 1
            return []
        recovery_ms = RECOVERY_MS if self._daily else 0  # a live fleet has no ground truth that a restart could blur
        self._restarts.append((at_ms - recovery_ms, until_ms + recovery_ms))
        nameserver = self._nameserver(fault, rng)
        return [Incident(kind=fault.kind, at_ms=at_ms, lasts_ms=int(fault.lasts), nameserver=nameserver)]

    def _near_a_restart(self, from_ms: int, to_ms: int) -> bool:
        return any(begin < to_ms and from_ms < end for begin, end in self._restarts)

    def _nameserver(self, fault: Fault, rng: Random) -> int:
        chosen = rng.randrange(self._nameservers)
        if fault.nameserver is None:
            return chosen
        return min(fault.nameserver, self._nameservers) - 1

    # brokers

    def _targets(self, at_ms: int, number: int, fault: Fault, rng: Random) -> tuple[Member, ...]:
        candidates = self._wanted(number, fault)
        free = [member for member in candidates if self._is_free(member, at_ms)]
        if fault.kind is FaultKind.SWITCH:
            pairs = [group for group in self._population.groups if len(group.members) > 1]
            free = [group.members[0] for group in pairs if set(group.members) <= set(free)]
        if fault.target.startswith("any"):
            wanted = _count(fault.target)
            free = sorted(rng.sample(free, min(wanted, len(free))), key=lambda member: member.number)
        if fault.kind is FaultKind.SWITCH:
            return tuple(member for master in free for member in self._population.group_of(master).members)
        return tuple(free)

    def _wanted(self, number: int, fault: Fault) -> Sequence[Member]:
        members, target = self._population.members, fault.target
        if target == "all" or target.startswith("any"):
            return members
        if target == "each":
            turn = self._turns.get(number, 0)
            self._turns[number] = turn + 1
            return members[turn % len(members) :][:1]
        if target.startswith("share:"):
            return members[: round(_number(target) * len(members))]
        if target.startswith("zone:"):
            found = [member for member in members if member.zone == target.removeprefix("zone:")]
        else:
            found = [member for member in members if target in (member.broker, member.addr)]
        if not found:
            raise UsageError(
                f"scenario {self._scenario.name}: unknown target {target!r}: use any, any:N, each, all, share:0.5, "
                "zone:NAME, or the name or address of a broker"
            )
        return found

    def _is_free(self, member: Member, at_ms: int) -> bool:
        return self._busy_until.get(member.number, -1) < at_ms

    # broker sets of the Controller

    def _controller(self, at_ms: int, fault: Fault, rng: Random) -> list[Incident]:
        """A set has one incident at a time, and none around an outage of the Controller itself."""
        names = set_names(self._scenario)
        free = [name for name in names if self._set_busy_until.get(name, -1) < at_ms]
        concerns_all = fault.kind in CONTROLLER_OUTAGES
        if self._daily and fault.kind in (FaultKind.CONTROLLER_CUT, FaultKind.ETCD_KILLED):
            free = []  # in virtual time the Controller is one node without etcd
        if not free or (concerns_all and len(free) < len(names)):
            self._left_out += 1
            return []
        name = "" if concerns_all else rng.choice(free)
        for busy in names if concerns_all else (name,):
            self._set_busy_until[busy] = at_ms + int(fault.lasts) + RECOVERY_MS
        return [Incident(kind=fault.kind, at_ms=at_ms, lasts_ms=int(fault.lasts), broker_set=name)]

    # topics

    def _churn(self, at_ms: int, rng: Random) -> list[Incident]:
        free = [g for g in self._population.groups if all(self._is_free(member, at_ms) for member in g.members)]
        change = self._change(free, rng)
        if change is None:
            self._left_out += 1
            return []
        groups = [g for g in self._population.groups if g.name in change.groups]
        for member in (member for g in groups for member in g.members):
            self._busy_until[member.number] = at_ms + _TOPIC_CHANGE_MS
        members = tuple(g.members[0] for g in groups)
        return [Incident(kind=FaultKind.CHURN, at_ms=at_ms, lasts_ms=0, members=members, change=change)]

    def _change(self, free: Sequence[Group], rng: Random) -> TopicChange | None:
        names = {group.name for group in free}
        choice = rng.random()
        if choice < 0.3:
            for created in self._created:
                if names.issuperset(created.groups):
                    self._created.remove(created)
                    return TopicChange(topic=created.topic, groups=created.groups, deleted=True)
        if choice < 0.5 and (resized := self._resized(names, rng)) is not None:
            return resized
        if not free:
            return None
        chosen = rng.sample(sorted(names), min(self._scenario.topics.spread, len(names)))
        self._names += 1
        queues = rng.choice((4, 8, 16))
        topic = TopicConfig(topic_name=f"churn-{self._names:05}", read_queue_nums=queues, write_queue_nums=queues)
        created = TopicChange(topic=topic, groups=tuple(sorted(chosen)), created=True)
        self._created.append(created)
        return created

    def _resized(self, free: set[str], rng: Random) -> TopicChange | None:
        """Give a topic created earlier more queues, on all its groups."""
        candidates = [created for created in self._created if free.issuperset(created.groups)]
        if not candidates:
            return None
        created = rng.choice(candidates)
        queues = created.topic.read_queue_nums + 4
        if queues > 128:
            return None
        topic = msgspec.structs.replace(created.topic, read_queue_nums=queues, write_queue_nums=queues)
        changed = TopicChange(topic=topic, groups=created.groups)
        self._created[self._created.index(created)] = changed
        return changed


def _flaps(at_ms: int, lasts_ms: int, fault: Fault) -> tuple[tuple[int, int], ...]:
    period = max(1, fault.down + fault.up)
    return tuple((at, at + fault.down) for at in range(at_ms, at_ms + lasts_ms - fault.down + 1, period))


def _count(target: str) -> int:
    return 1 if target == "any" else max(1, int(_number(target)))


def _number(target: str) -> float:
    try:
        return float(target.partition(":")[2])
    except ValueError:
        raise UsageError(f"target {target!r}: a number must follow the colon") from None
