"""Response types of the API. Keys are snake_case; times are milliseconds since the epoch."""

from enum import StrEnum

import msgspec

from routebook.history.query.answers import Cause, Certainty


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Number of entries in the route tables."""

    clusters: int
    broker_groups: int
    brokers: int
    topics: int


class ServerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """This NameServer. `ns` is its permanent id, `boot` the id of this start."""

    version: str
    ns: str
    boot: str
    listen: str
    started_at_ms: int
    now_ms: int
    uptime_s: float
    ready: bool
    last_seq: int | None  # sequence number of the newest record; null without a journal
    sizes: Sizes
    settings: dict[str, str | int | bool]  # without secrets


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster and its broker groups."""

    name: str
    broker_groups: list[str]
    brokers: int


class ClustersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    clusters: list[Cluster]


class MemberState(StrEnum):
    """State of a broker's lease."""

    REGISTERED = "registered"  # its connection is open and its heartbeat recent
    LATE = "late"  # no heartbeat for more than half of its timeout
    RECOVERED = "recovered"  # from before a restart, or protected from expiry: waiting to re-register


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """Version of a broker's topic configuration."""

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


class _Group(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    cluster: str
    acting_master: bool
    zone: str | None


class BrokerGroup(_Group, frozen=True, kw_only=True):
    """The brokers that share one name."""

    members: list[Member]


class BrokerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One broker group and its number of topics."""

    at_ms: int
    group: BrokerGroup
    topics: int


class PastGroup(_Group, frozen=True, kw_only=True):
    """A broker group at a past time."""

    addrs: dict[str, str]  # by broker id
    since_ms: int | None  # null: before the start of the journal


class BrokersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A page of broker groups by name; pass `next` as `after` for the following page."""

    at_ms: int
    total: int
    groups: list[BrokerGroup]
    next: str | None


class PastBrokersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The broker groups at a past time, and how certain that is."""

    at_ms: int
    groups: list[PastGroup]
    certainty: Certainty


class TopicSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A topic in a list. Queues are summed over its brokers; queues without the permission are not counted."""

    name: str
    brokers: int
    read_queues: int
    write_queues: int


class TopicsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A page of topics by name; `total` counts all topics. Pass `next` as `after` for the following page."""

    total: int
    topics: list[TopicSummary]
    next: str | None


class RouteBroker(_Group, frozen=True, kw_only=True):
    """A broker group that has the topic, as clients see it."""

    addrs: dict[str, str]  # by broker id; "0" is the master or the acting master


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
    """The logical queues of a static topic on one broker: logical queue id → physical queue id."""

    epoch: int
    total_queues: int
    scope: str | None
    queues: dict[str, int]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """The brokers and queues of a topic."""

    brokers: list[RouteBroker]
    queues: list[RouteQueues]
    filter_servers: dict[str, list[str]]  # by broker address
    static_mappings: dict[str, StaticMapping]  # by broker
    order_config: str | None


class PastOfRoute(msgspec.Struct, frozen=True, kw_only=True):
    """Validity and cause of a past route, and how certain they are."""

    valid_from_ms: int | None  # null: before the start of the journal
    valid_to_ms: int | None  # null: still valid
    cause: Cause | None
    certainty: Certainty


class RouteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A topic's route. `route` is null if the topic had none; `past` is null for the current route."""

    topic: str
    at_ms: int
    route: Route | None
    past: PastOfRoute | None = None


class KvAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The KV configuration: namespace → key → value."""

    namespaces: dict[str, dict[str, str | None]]


class AliveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The process is alive."""

    status: str
    version: str
    ns: str
    uptime_s: float


class ReadyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the server is ready for clients; if not, what it waits for."""

    ready: bool
    waiting_for: dict[str, str]
