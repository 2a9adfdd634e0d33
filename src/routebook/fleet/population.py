"""The population of a scenario: brokers in groups, clusters and zones, topics on groups, clients. Pure, by seed."""

from collections.abc import Mapping
from itertools import cycle, islice
from typing import Final

import msgspec

from routebook.codes import MASTER_ID
from routebook.fleet.client_profiles import CLIENT_PROFILES, ClientProfile
from routebook.fleet.randomness import random_stream
from routebook.fleet.scenario import Scenario
from routebook.model import TopicConfig

PORT: Final = 10911
HA_PORT: Final = 10912
_SLAVE_ID: Final = 1


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One broker process. `number` is its index in the fleet."""

    number: int
    cluster: str
    broker: str
    broker_id: int  # at start; roles may switch
    host: str
    zone: str | None

    @property
    def addr(self) -> str:
        return f"{self.host}:{PORT}"

    @property
    def ha_addr(self) -> str:
        return f"{self.host}:{HA_PORT}"


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The brokers with one name, the master first, and their topics without system topics."""

    name: str
    cluster: str
    members: tuple[Member, ...]
    topics: tuple[TopicConfig, ...]


class FleetClient(msgspec.Struct, frozen=True, kw_only=True):
    """A client and the topics it uses. `group` is its consumer group."""

    number: int
    profile: ClientProfile
    group: str
    topics: tuple[str, ...]
    phase: float  # start within its polling period, 0 to 1

    @property
    def topics_asked(self) -> tuple[str, ...]:
        return (*self.topics, f"%RETRY%{self.group}")


class Population(msgspec.Struct, frozen=True, kw_only=True):
    """All brokers, topics and clients."""

    groups: tuple[Group, ...]
    members: tuple[Member, ...]
    placement: dict[str, tuple[str, ...]]  # topic → groups
    clients: tuple[FleetClient, ...]

    def group_of(self, member: Member) -> Group:
        return next(group for group in self.groups if group.name == member.broker)


def build_population(scenario: Scenario, seed: int) -> Population:
    """Build the fleet of a scenario; the same seed gives the same fleet."""
    drafts = _groups(scenario)
    placement, topics = _placement(scenario, [name for name, _, _ in drafts], seed)
    groups = tuple(
        Group(name=name, cluster=cluster, members=members, topics=tuple(topics[name]))
        for name, cluster, members in drafts
    )
    return Population(
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
                # RocketMQ stores one zone per group: that of the member that registered last
                zone=zones[position % len(zones)] if zones else None,
            )
            for place in range(size)
        )
        groups.append((name, cluster, members))
        number += size
    return groups


def _host(number: int) -> str:
    """Return an address in 127/8, which is this machine, so that it never reaches a real host."""
    return f"127.16.{number // 250}.{number % 250 + 1}"


def _placement(
    scenario: Scenario, names: list[str], seed: int
) -> tuple[dict[str, tuple[str, ...]], Mapping[str, list[TopicConfig]]]:
    rng = random_stream(seed, "placement")
    topics: dict[str, list[TopicConfig]] = {name: [] for name in names}
    placement: dict[str, tuple[str, ...]] = {}
    for number in range(scenario.topics.count):
        topic = f"topic-{number + 1:04}"
        # every seventh topic is on one group only, as in real fleets: these lose their route when a broker fails
        spread = 1 if number % 7 == 6 else min(scenario.topics.spread, len(names))
        chosen = tuple(sorted(rng.sample(names, spread)))
        placement[topic] = chosen
        queues = scenario.topics.queues
        config = TopicConfig(topic_name=topic, read_queue_nums=queues, write_queue_nums=queues)
        for name in chosen:
            topics[name].append(config)
    return placement, topics


def _clients(scenario: Scenario, placement: Mapping[str, tuple[str, ...]], seed: int) -> tuple[FleetClient, ...]:
    rng = random_stream(seed, "clients")
    names = list(placement)
    profiles = [name for name, weight in scenario.clients.profiles.items() for _ in range(weight)]
    return tuple(
        FleetClient(
            number=number,
            profile=CLIENT_PROFILES[profile],
            group=f"group-{number + 1:03}",
            topics=tuple(rng.sample(names, min(scenario.clients.topics, len(names)))),
            phase=rng.random(),
        )
        for number, profile in enumerate(islice(cycle(profiles), scenario.clients.count))
    )
