"""The timetable: a scenario's faults as incidents with their times, targets and details, drawn by the seed. Pure.

A broker has one thing at a time befall it, with time to recover between two, and nothing befalls brokers around the
restart of a NameServer: so it can be told of each incident what must be seen of it. What would collide is left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Final

import msgspec

from routebook.codes import DEFAULT_HEARTBEAT_TIMEOUT_MS
from routebook.errors import UsageError
from routebook.fleet.broker_requests import NOT_ACTIVE_MS
from routebook.fleet.population import Census, Group, Member
from routebook.fleet.randomness import chance
from routebook.fleet.scenario import Fault, FaultKind, Scenario
from routebook.model import TopicConfig

DAY_MS: Final = 86_400_000
RECOVERY_MS: Final = 200_000  # the default timeout, a scan, a registration period, and some
_ANNOUNCED_MS: Final = 1_000  # a topic and its group do not change at once: what came first would be open
_FIRST_MS: Final = 120_000  # nothing happens by chance before all have come


class TopicChange(msgspec.Struct, frozen=True, kw_only=True):
    """A topic is created or changed on these groups, or deleted everywhere (`topic.perm` 0)."""

    topic: TopicConfig
    groups: tuple[str, ...]
    deleted: bool = False
    created: bool = False


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """Something that befalls the fleet, `at_ms` after the start."""

    kind: FaultKind
    at_ms: int
    lasts_ms: int
    members: tuple[Member, ...] = ()
    nameserver: int | None = None  # counted from 0
    silent: bool = False
    delay_ms: int = 0
    downs: tuple[tuple[int, int], ...] = ()  # flap: when it goes and comes back, from the start
    change: TopicChange | None = None

    @property
    def until_ms(self) -> int:
        return self.at_ms + self.lasts_ms


class Timetable(msgspec.Struct, frozen=True):
    """What is to happen, in order, and how much was left out because it collided."""

    incidents: tuple[Incident, ...]
    left_out: int


def make_timetable(
    scenario: Scenario, census: Census, *, seed: int, duration_ms: int, nameservers: int, daily: bool
) -> Timetable:
    """`daily` goes through the lines with times every day, from the scenario's hour; else once, from the start."""
    making = _Making(scenario, census, seed=seed, duration_ms=duration_ms, nameservers=nameservers, daily=daily)
    return making.timetable()


class _Making:
    def __init__(
        self, scenario: Scenario, census: Census, *, seed: int, duration_ms: int, nameservers: int, daily: bool
    ) -> None:
        self._scenario = scenario
        self._census = census
        self._seed = seed
        self._duration_ms = duration_ms
        self._nameservers = nameservers
        self._daily = daily
        self._busy_until: dict[int, int] = {}  # by number of the member
        self._restarts: list[tuple[int, int]] = []
        self._made: list[TopicChange] = []  # topics created by churn and not deleted yet
        self._names = 0
        self._turns: dict[int, int] = {}  # of a fault with target "each"
        self._left_out = 0

    def timetable(self) -> Timetable:
        lines = list(enumerate(self._scenario.fault))
        restarts = [line for line in lines if line[1].kind is FaultKind.RESTART]
        incidents: list[Incident] = []
        for at_ms, number, fault in self._occurrences(restarts):
            incidents += self._one(at_ms, number, fault)
        for at_ms, number, fault in self._occurrences(line for line in lines if line not in restarts):
            incidents += self._one(at_ms, number, fault)
        incidents.sort(key=lambda incident: incident.at_ms)
        return Timetable(tuple(incidents), self._left_out)

    def _occurrences(self, lines: Iterable[tuple[int, Fault]]) -> list[tuple[int, int, Fault]]:
        times = [(at_ms, number, fault) for number, fault in lines for at_ms in self._times(number, fault)]
        return sorted(times, key=lambda time: time[:2])

    def _times(self, number: int, fault: Fault) -> Iterator[int]:
        if fault.per_day is not None:
            draw = chance(self._seed, f"times {number}")
            at_ms = float(min(_FIRST_MS, self._duration_ms // 4))
            while (at_ms := at_ms + draw.expovariate(fault.per_day / DAY_MS)) < self._duration_ms:
                yield int(at_ms)
            return
        starts = range(self._scenario.daily_at, self._duration_ms, DAY_MS) if self._daily else (0,)
        for start_ms in starts:
            for turn in range(self._turns_of(fault)):
                at_ms = start_ms + (fault.at or 0) + turn * (fault.every or 0)
                if at_ms < self._duration_ms:
                    yield at_ms

    def _turns_of(self, fault: Fault) -> int:
        if fault.every is None:
            return 1
        if fault.times is not None:
            return fault.times
        if fault.target == "each":
            return len(self._census.members)
        return max(1, (self._scenario.duration - (fault.at or 0) - 1) // fault.every + 1)

    def _one(self, at_ms: int, number: int, fault: Fault) -> list[Incident]:
        draw = chance(self._seed, f"fault {number} at {at_ms}")
        if fault.kind is FaultKind.RESTART:
            return self._restart(at_ms, fault, draw)
        lasts_ms = 0 if fault.kind in {FaultKind.CHURN, FaultKind.SWITCH} else int(fault.lasts)
        if self._near_a_restart(at_ms, at_ms + lasts_ms) or self._is_too_late(at_ms + lasts_ms):
            self._left_out += 1
            return []
        if fault.kind is FaultKind.CHURN:
            return self._churn(at_ms, draw)
        members = self._targets(at_ms, number, fault, draw)
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
                nameserver=self._nameserver(fault, draw) if fault.kind is FaultKind.CUT else None,
                silent=fault.silent,
                delay_ms=min(int(fault.delay), self._most_delay_ms()) if fault.kind is FaultKind.SLOW else 0,
                downs=_flaps(at_ms, lasts_ms, fault) if fault.kind is FaultKind.FLAP else (),
            )
        ]

    def _is_too_late(self, until_ms: int) -> bool:
        """In virtual time everything comes to its end, so that the truth about it is whole; a run just ends."""
        return self._daily and until_ms > self._duration_ms

    def _most_delay_ms(self) -> int:
        """Late is not gone: a slow broker keeps its lease."""
        terms = self._scenario.brokers
        if terms.acting_master != "off":
            return NOT_ACTIVE_MS * 2 // 3
        return max(0, (DEFAULT_HEARTBEAT_TIMEOUT_MS - terms.register_every) * 2 // 3)

    # NameServers

    def _restart(self, at_ms: int, fault: Fault, draw: Random) -> list[Incident]:
        until_ms = at_ms + int(fault.lasts)
        if self._near_a_restart(at_ms, until_ms) or self._is_too_late(until_ms + RECOVERY_MS):
            self._left_out += 1
            return []
        self._restarts.append((at_ms - RECOVERY_MS, until_ms + RECOVERY_MS))
        nameserver = self._nameserver(fault, draw)
        return [Incident(kind=fault.kind, at_ms=at_ms, lasts_ms=int(fault.lasts), nameserver=nameserver)]

    def _near_a_restart(self, from_ms: int, to_ms: int) -> bool:
        return any(begin < to_ms + RECOVERY_MS and from_ms < end for begin, end in self._restarts)

    def _nameserver(self, fault: Fault, draw: Random) -> int:
        chosen = draw.randrange(self._nameservers)
        if fault.nameserver is None:
            return chosen
        return min(fault.nameserver, self._nameservers) - 1

    # brokers

    def _targets(self, at_ms: int, number: int, fault: Fault, draw: Random) -> tuple[Member, ...]:
        candidates = self._wanted(number, fault)
        free = [member for member in candidates if self._is_free(member, at_ms)]
        if fault.kind is FaultKind.SWITCH:
            pairs = [group for group in self._census.groups if len(group.members) > 1]
            free = [group.members[0] for group in pairs if set(group.members) <= set(free)]
        if fault.target.startswith("any"):
            wanted = _count(fault.target)
            free = sorted(draw.sample(free, min(wanted, len(free))), key=lambda member: member.number)
        if fault.kind is FaultKind.SWITCH:
            return tuple(member for master in free for member in self._census.group_of(master).members)
        return tuple(free)

    def _wanted(self, number: int, fault: Fault) -> Sequence[Member]:
        members, target = self._census.members, fault.target
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
                f"scenario {self._scenario.name}: there is no target {target!r}: it is any, any:N, each, all, "
                "share:0.5, zone:NAME, or the name or address of a broker"
            )
        return found

    def _is_free(self, member: Member, at_ms: int) -> bool:
        return self._busy_until.get(member.number, -1) < at_ms

    # topics

    def _churn(self, at_ms: int, draw: Random) -> list[Incident]:
        free = [g for g in self._census.groups if all(self._is_free(member, at_ms) for member in g.members)]
        change = self._change(free, draw)
        if change is None:
            self._left_out += 1
            return []
        groups = [g for g in self._census.groups if g.name in change.groups]
        for member in (member for g in groups for member in g.members):
            self._busy_until[member.number] = at_ms + _ANNOUNCED_MS
        members = tuple(g.members[0] for g in groups)
        return [Incident(kind=FaultKind.CHURN, at_ms=at_ms, lasts_ms=0, members=members, change=change)]

    def _change(self, free: Sequence[Group], draw: Random) -> TopicChange | None:
        names = {group.name for group in free}
        what = draw.random()
        if what < 0.3:
            for made in self._made:
                if names.issuperset(made.groups):
                    self._made.remove(made)
                    return TopicChange(topic=made.topic, groups=made.groups, deleted=True)
        if what < 0.5 and (altered := self._altered(names, draw)) is not None:
            return altered
        if not free:
            return None
        chosen = draw.sample(sorted(names), min(self._scenario.topics.spread, len(names)))
        self._names += 1
        queues = draw.choice((4, 8, 16))
        topic = TopicConfig(topic_name=f"churn-{self._names:05}", read_queue_nums=queues, write_queue_nums=queues)
        created = TopicChange(topic=topic, groups=tuple(sorted(chosen)), created=True)
        self._made.append(created)
        return created

    def _altered(self, free: set[str], draw: Random) -> TopicChange | None:
        """One of the topics made before gets other queues, on all its groups."""
        candidates = [made for made in self._made if free.issuperset(made.groups)]
        if not candidates:
            return None
        made = draw.choice(candidates)
        queues = made.topic.read_queue_nums + 4
        if queues > 128:
            return None
        topic = msgspec.structs.replace(made.topic, read_queue_nums=queues, write_queue_nums=queues)
        changed = TopicChange(topic=topic, groups=made.groups)
        self._made[self._made.index(made)] = changed
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
        raise UsageError(f"target {target!r}: there is no number after the colon") from None
