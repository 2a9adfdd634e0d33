"""RocketMQ's data types as frozen structs, with fields in the order of the wire (Java's names, sorted)."""

from typing import Final, NamedTuple

import msgspec


class DataVersion(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """The version of a broker's topic table; equal only if all three parts are."""

    counter: int | None  # Java: an AtomicLong; a sender may send null
    state_version: int
    timestamp: int


class QueueData(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """A topic's queues on one broker."""

    broker_name: str
    perm: int
    read_queue_nums: int
    topic_sys_flag: int
    write_queue_nums: int


class TopicConfig(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """A topic as a broker announces it, without the fields that a NameServer does not use."""

    topic_name: str
    perm: int = 6
    read_queue_nums: int = 16
    topic_sys_flag: int = 0
    write_queue_nums: int = 16


DEFAULT_SCOPE: Final = "__global__"


class TopicQueueMappingInfo(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """The physical queues of one broker that hold a static topic's logical queues."""

    bname: str | None = None
    curr_id_map: dict[int, int] | None = None
    dirty: bool
    epoch: int
    scope: str | None = None
    topic: str | None = None
    total_queues: int


class BrokerData(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """A broker group: its members by id."""

    broker_addrs: dict[int, str]
    broker_name: str
    cluster: str
    enable_acting_master: bool
    zone_name: str | None = None


class TopicRoute(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """The brokers and queues of a topic. Java: TopicRouteData."""

    broker_datas: list[BrokerData]
    filter_server_table: dict[str, list[str]]
    order_topic_conf: str | None = None
    queue_datas: list[QueueData]
    topic_queue_mapping_by_broker: dict[str, TopicQueueMappingInfo] | None = None


class ClusterInfo(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """All broker groups, and the groups of each cluster."""

    broker_addr_table: dict[str, BrokerData]
    cluster_addr_table: dict[str, list[str]]


class TopicList(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """A list of topics; `broker_addr` is set only in the answer to 304."""

    broker_addr: str | None = None
    topic_list: list[str]


class MemberGroup(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The members of one broker group, the answer to 901."""

    broker_addrs: dict[int, str]
    broker_name: str
    cluster: str


class BrokerKey(NamedTuple):
    """The key of a lease. Java: BrokerAddrInfo."""

    cluster: str
    addr: str


class RegisterBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a registration, regardless of the form it was sent in.

    `topics` is None if the sender sent null: Java then stores nothing. `filter_servers` is None if the form has none
    (before 3.0.11): the stored ones stay; an empty tuple removes them. `has_unique_names` is True if it is known that
    each topic is named once; a malformed body may name one twice.
    """

    topics: tuple[TopicConfig, ...] | None
    data_version: DataVersion | None
    mappings: dict[str, TopicQueueMappingInfo]
    filter_servers: tuple[str, ...] | None
    has_unique_names: bool = False


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """A REGISTER_BROKER request, decoded and validated."""

    cluster: str
    broker: str
    addr: str
    broker_id: int
    ha_addr: str | None
    timeout_ms: int | None  # None: the default of 120 s
    acting_master: bool | None  # None: a broker older than 5.0, which does not send the field
    zone: str | None
    body: RegisterBody

    @property
    def key(self) -> BrokerKey:
        return BrokerKey(self.cluster, self.addr)


class RegisterResult(msgspec.Struct, frozen=True):
    """The result of a registration: for a slave the addresses of its master, if there is one."""

    ha_addr: str | None = None
    master_addr: str | None = None


class RoutePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that affect the route tables; they can change between two requests."""

    delete_topic_with_broker_registration: bool = False
    notify_min_broker_id_changed: bool = False
    support_acting_master: bool = False
