"""Plans the restart of a broker group: what clients lose meanwhile, whether it is safe, and the steps. Pure."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from routebook.codes import PERM_WRITE, SYSTEM_TOPICS
from routebook.doctor.checks import SYSTEM_PREFIXES
from routebook.doctor.observation import counted, listed
from routebook.model import QueueData

_ROUTE_REFRESH_S: Final = 30  # Java clients: pollNameServerInterval
_MAX_NAMED: Final = 3


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One finding; `blocks` means that the restart is not safe while it holds."""

    code: str
    blocks: bool
    text: str


class MaintenancePlan(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the group can be restarted now. System topics are not counted."""

    broker: str
    cluster: str
    at_ms: int
    safe: bool
    topics: int
    topics_without_broker: list[str]
    topics_without_writes: list[str]  # they keep a broker, but none that accepts writes
    write_queues: int
    members: int
    is_wiped: bool  # no topic of the group accepts writes now
    reasons: list[Reason]
    steps: list[str]


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """The group to restart, and the state of everything else."""

    broker: str
    cluster: str
    at_ms: int
    members: int
    nameserver: str  # its address, for commands
    unstable: Mapping[str, str]  # other groups without a live member, and why
    is_protecting: bool  # mass-expiry protection is on
    diverged_peers: tuple[str, ...] = ()
    unreachable_peers: tuple[str, ...] = ()


class OwnTopics:
    """RocketMQ's own topics, which exist once per broker or cluster."""

    def __init__(self, *, brokers: Iterable[str], clusters: Iterable[str]) -> None:
        names = set(clusters)
        self._names = {*brokers, *names, *(f"{name}_REPLY_TOPIC" for name in names)} | SYSTEM_TOPICS

    def __contains__(self, topic: str) -> bool:
        return topic in self._names or topic.startswith(SYSTEM_PREFIXES)


class Impact:
    """What clients lose with one broker group. `add` takes every topic of the NameServer."""

    def __init__(self, broker: str, own: OwnTopics, unstable: Collection[str] = ()) -> None:
        self._broker = broker
        self._own = own
        self._unstable = unstable
        self.topics = self.write_queues = self.read_queues = 0
        self.only_here: list[str] = []
        self.writes_only_here: list[str] = []
        self.rest_unstable: list[str] = []  # all other brokers of the topic are unstable
        self.is_writable = False

    def add(self, topic: str, queues: Mapping[str, QueueData]) -> None:
        queue = queues.get(self._broker)
        if queue is None or topic in self._own:
            return
        self.topics += 1
        self.read_queues += queue.read_queue_nums
        is_writable = bool(queue.perm & PERM_WRITE)
        self.is_writable |= is_writable
        self.write_queues += queue.write_queue_nums if is_writable else 0
        others = {name: other for name, other in queues.items() if name != self._broker}
        if not others:
            self.only_here.append(topic)
        elif is_writable and not any(other.perm & PERM_WRITE for other in others.values()):
            self.writes_only_here.append(topic)
        elif all(name in self._unstable for name in others):
            self.rest_unstable.append(topic)


def plan(impact: Impact, around: Surroundings) -> MaintenancePlan:
    """Return the plan: safe if no reason blocks."""
    reasons = [*_losses(impact, around), *_conditions(impact, around)]
    return MaintenancePlan(
        broker=around.broker,
        cluster=around.cluster,
        at_ms=around.at_ms,
        safe=not any(reason.blocks for reason in reasons),
        topics=impact.topics,
        topics_without_broker=sorted(impact.only_here),
        topics_without_writes=sorted(impact.writes_only_here),
        write_queues=impact.write_queues,
        members=around.members,
        is_wiped=impact.topics > 0 and not impact.is_writable,
        reasons=reasons,
        steps=_steps(impact, around),
    )


def _losses(impact: Impact, around: Surroundings) -> Iterable[Reason]:
    if impact.only_here:
        text = f"{_topics(impact.only_here)} only on {around.broker}: clients have no route during the restart"
        if around.members > 1:
            text += "; a restart of one member at a time keeps the route, without writes while the master is down"
        yield Reason(code="topics_without_broker", blocks=True, text=text)
    if impact.writes_only_here:
        text = f"{_topics(impact.writes_only_here)} writable only on {around.broker}: producers fail during the restart"
        yield Reason(code="topics_without_writes", blocks=True, text=text)
    if impact.rest_unstable:
        names = ", ".join(f"{name} ({why})" for name, why in sorted(around.unstable.items())[:_MAX_NAMED])
        text = f"{_topics(impact.rest_unstable)} otherwise only on brokers that may be down: {names}"
        yield Reason(code="other_brokers_unstable", blocks=True, text=text)
    if not impact.topics:
        yield Reason(code="no_topics", blocks=False, text=f"no topic of applications is on {around.broker}")
    elif not (impact.only_here or impact.writes_only_here or impact.rest_unstable):
        every = counted(impact.topics, "topic")
        text = f"other brokers accept writes for all of its {every}"
        if not impact.is_writable:
            text = f"its {every} are on other brokers too, and writes to {around.broker} are already wiped"
        yield Reason(code="redundant", blocks=False, text=text)


def _conditions(impact: Impact, around: Surroundings) -> Iterable[Reason]:
    if around.is_protecting:
        text = "mass-expiry protection is on: many brokers are silent, and routes may contain brokers that are down"
        yield Reason(code="expiry_protection", blocks=True, text=text)
    if around.diverged_peers:
        text = f"routes differ from {', '.join(around.diverged_peers)}: its clients may have fewer brokers left"
        yield Reason(code="peers_diverged", blocks=True, text=text)
    if around.unreachable_peers:
        text = f"not compared with {', '.join(around.unreachable_peers)}: it is unreachable"
        yield Reason(code="peers_unreachable", blocks=False, text=text)
    if impact.is_writable:
        text = "producers still write to it: wipe its write permission first, so that they change to other brokers"
        yield Reason(code="not_wiped", blocks=False, text=text)


def _steps(impact: Impact, around: Surroundings) -> list[str]:
    server = f"-n {around.nameserver}"
    wipe = [
        f"routebook broker wipe {around.broker} {server}",
        f"wait {_ROUTE_REFRESH_S} s: clients refresh their routes",
    ]
    return [
        *(wipe if impact.is_writable else []),
        f"restart {around.broker}",
        f"routebook brokers {around.broker} {server}",
        f"routebook broker restore {around.broker} {server}",
    ]


def _topics(names: list[str]) -> str:
    return f"{counted(names, 'topic')} ({listed(sorted(names))}) {'is' if len(names) == 1 else 'are'}"
