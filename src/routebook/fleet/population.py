"""Who there is: brokers in groups, clusters and zones, topics on groups, clients with their topics. By seed, pure."""

from collections.abc import Mapping
from itertools import cycle, islice
from typing import Final

import msgspec

from routebook.codes import MASTER_ID
from routebook.fleet.client_profiles import PERSONAS, Persona
from routebook.fleet.randomness import chance
from routebook.fleet.scenario import Scenario
from routebook.model import TopicConfig

PORT: Final = 10911
HA_PORT: Final = 10912
_SLAVE_ID: Final = 1


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One broker process. `number` is its place in the fleet."""

    number: int
    cluster: str
    broker: str
    broker_id: int  # at the beginning; roles may switch
    host: str
    zone: str | None

    @property
    def addr(self) -> str:
        return f"{self.host}:{PORT}"

    @property
    def ha_addr(self) -> str:
        return f"{self.host}:{HA_PORT}"


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The brokers of one name, the master first, and the topics they have beside the system's."""

    name: str
    cluster: str
    members: tuple[Member, ...]
    topics: tuple[TopicConfig, ...]


class FleetClient(msgspec.Struct, frozen=True, kw_only=True):
    """A client and what it asks for. `group` is its consumer group."""

    number: int
    persona: Persona
    group: str
    topics: tuple[str, ...]
    phase: float  # of its polling period, from 0 to 1

    @property
    def topics_asked(self) -> tuple[str, ...]:
        return (*self.topics, f"%RETRY%{self.group}")


class Census(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    groups: tuple[Group, ...]
    members: tuple[Member, ...]
    placement: dict[str, tuple[str, ...]]  # topic → groups
    clients: tuple[FleetClient, ...]

    def group_of(self, member: Member) -> Group:
        return next(group for group in self.groups if group.name == member.broker)


def take_census(scenario: Scenario, seed: int) -> Census:
    """The fleet of a scenario; the same for the same seed."""
    shells = _groups(scenario)
    placement, topics = _placement(scenario, [name for name, _, _ in shells], seed)
    groups = tuple(
        Group(name=name, cluster=cluster, members=members, topics=tuple(topics[name]))
        for name, cluster, members in shells
    )
    return Census(
        groups=groups,
        members=tuple(member for group in groups for member in group.members),
        placement=placement,
        clients=_clients(scenario, placement, seed),
    )


def _groups(scenario: Scenario) -> list[tuple[str, str, tuple[Member, ...]]]:
    terms = scenario.brokers
    groups: list[tuple[str, str, tuple[Member, ...]]] = []
    number = 0
    pairs = 0
    while number < terms.count:
        position = len(groups)
        cluster = f"cluster-{position % terms.clusters + 1}"
        name = f"broker-{position + 1:03}"
        zones = terms.zones
        size = 2 if pairs < round(terms.paired * (position + 1)) and number + 2 <= terms.count else 1
        pairs += size == 2
        members = tuple(
            Member(
                number=number + place,
                cluster=cluster,
                broker=name,
                broker_id=MASTER_ID if place == 0 else _SLAVE_ID,
                host=_host(number + place),
                # RocketMQ knows one zone for a group: that of the member that registered last
                zone=zones[position % len(zones)] if zones else None,
            )
            for place in range(size)
        )
        groups.append((name, cluster, members))
        number += size
    return groups


def _host(number: int) -> str:
    """All of 127/8 is this machine, so a make-believe address never leads to somebody real."""
    return f"127.16.{number // 250}.{number % 250 + 1}"


def _placement(
    scenario: Scenario, names: list[str], seed: int
) -> tuple[dict[str, tuple[str, ...]], Mapping[str, list[TopicConfig]]]:
    draw = chance(seed, "placement")
    topics: dict[str, list[TopicConfig]] = {name: [] for name in names}
    placement: dict[str, tuple[str, ...]] = {}
    for number in range(scenario.topics.count):
        topic = f"topic-{number + 1:04}"
        # every seventh hangs on one group: there are such topics in every fleet, and they are the ones that hurt
        spread = 1 if number % 7 == 6 else min(scenario.topics.spread, len(names))
        chosen = tuple(sorted(draw.sample(names, spread)))
        placement[topic] = chosen
        queues = scenario.topics.queues
        config = TopicConfig(topic_name=topic, read_queue_nums=queues, write_queue_nums=queues)
        for name in chosen:
            topics[name].append(config)
    return placement, topics


def _clients(scenario: Scenario, placement: Mapping[str, tuple[str, ...]], seed: int) -> tuple[FleetClient, ...]:
    draw = chance(seed, "clients")
    names = list(placement)
    makes = [name for name, weight in scenario.clients.personas.items() for _ in range(weight)]
    return tuple(
        FleetClient(
            number=number,
            persona=PERSONAS[make],
            group=f"group-{number + 1:03}",
            topics=tuple(draw.sample(names, min(scenario.clients.topics, len(names)))),
            phase=draw.random(),
        )
        for number, make in enumerate(islice(cycle(makes), scenario.clients.count))
    )
