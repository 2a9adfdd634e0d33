"""What the API answers. Names are our own, in snake_case; times are ms since the epoch."""

from enum import StrEnum

import msgspec

from routebook.history.query.answers import Cause, Certainty


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is."""

    clusters: int
    broker_groups: int
    brokers: int
    topics: int


class ServerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """This NameServer. `ns` is its id for life, `boot` that of this start."""

    version: str
    ns: str
    boot: str
    listen: str
    started_at_ms: int
    now_ms: int
    uptime_s: float
    ready: bool
    last_seq: int | None  # the newest record's number; null without a journal
    sizes: Sizes
    settings: dict[str, str | int | bool]  # those that are not secret


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster and its broker groups."""

    name: str
    broker_groups: list[str]
    brokers: int


class ClustersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    clusters: list[Cluster]


class MemberState(StrEnum):
    """How sure it is that a broker is there."""

    REGISTERED = "registered"  # its connection is open and its heartbeat fresh
    LATE = "late"  # no sign of life for more than half of its timeout
    RECOVERED = "recovered"  # known from before a restart, or kept while silent: it has yet to register again


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """How new a broker's topic table is."""

    counter: int | None
    state_version: int
    timestamp: int


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One broker of a group; id 0 is the master."""

    broker_id: int
    addr: str
    ha_addr: str | None
    cluster: str
    state: MemberState
    last_seen_ms: int
    silent_ms: int
    timeout_ms: int
    data_version: Version | None
    filter_servers: list[str]


class BrokerGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The brokers of one name."""

    name: str
    cluster: str
    acting_master: bool
    zone: str | None
    members: list[Member]


class BrokerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One group, and how many topics it has."""

    at_ms: int
    group: BrokerGroup
    topics: int


class PastGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A broker group as it was."""

    name: str
    cluster: str
    acting_master: bool
    zone: str | None
    addrs: dict[str, str]  # by broker id
    since_ms: int | None  # null: since before anything that is kept


class BrokersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Groups by name; `next` is what to give as `after` for the following ones."""

    at_ms: int
    total: int
    groups: list[BrokerGroup]
    next: str | None


class PastBrokersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The groups at a past time, and how far that can be trusted."""

    at_ms: int
    groups: list[PastGroup]
    certainty: Certainty


class TopicSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A topic in a list. Queues are summed over its brokers; those of brokers that take no writes do not count."""

    name: str
    brokers: int
    read_queues: int
    write_queues: int


class TopicsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Topics by name; `total` counts all there are, `next` is what to give as `after` for the following ones."""

    total: int
    topics: list[TopicSummary]
    next: str | None


class RouteBroker(msgspec.Struct, frozen=True, kw_only=True):
    """A broker group that has the topic, as clients see it."""

    name: str
    cluster: str
    acting_master: bool
    zone: str | None
    addrs: dict[str, str]  # by broker id; "0" is the master, or who stands in for it


class RouteQueues(msgspec.Struct, frozen=True, kw_only=True):
    """The topic's queues on one broker."""

    broker: str
    perm: int
    readable: bool
    writable: bool
    read_queues: int
    write_queues: int
    system_flag: int


class StaticMapping(msgspec.Struct, frozen=True, kw_only=True):
    """A static topic's logical queues on one broker: logical queue → the broker's own."""

    epoch: int
    total_queues: int
    scope: str | None
    queues: dict[str, int]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where a topic lives."""

    brokers: list[RouteBroker]
    queues: list[RouteQueues]
    filter_servers: dict[str, list[str]]  # by broker address
    static_mappings: dict[str, StaticMapping]  # by broker
    order_config: str | None


class PastOfRoute(msgspec.Struct, frozen=True, kw_only=True):
    """Since when and until when a past route held, what brought it about, and how far that can be trusted."""

    valid_from_ms: int | None  # null: before anything that is kept
    valid_to_ms: int | None  # null: it still holds
    cause: Cause | None
    certainty: Certainty


class RouteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A topic's route, now or at a past time. `route` is null where there was none, `past` where it is about now."""

    topic: str
    at_ms: int
    route: Route | None
    past: PastOfRoute | None = None


class KvAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """All KV configuration: namespace → key → value."""

    namespaces: dict[str, dict[str, str | None]]


class AliveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The process answers."""

    status: str
    version: str
    ns: str
    uptime_s: float


class ReadyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether clients should be sent here; if not, what it waits for."""

    ready: bool
    waiting_for: dict[str, str]
