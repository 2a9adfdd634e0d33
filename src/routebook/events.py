"""What happened: everything the tables learn is one of these, in order. Pure values; the lake imports this module alone.

Replaying the route events of a journal from empty rebuilds the route tables that wrote it.
"""

from enum import StrEnum
from typing import TypeAlias

import msgspec

from routebook.model import DataVersion, QueueData, TopicQueueMappingInfo


class DownReason(StrEnum):
    """Why a broker left the tables."""

    UNREGISTERED = "unregistered"  # it said so itself (104 over its own connection)
    DEREGISTERED = "deregistered"  # somebody else said so (104 over another connection)
    CLOSED = "closed"  # its connection closed
    IDLE = "idle"  # its connection was closed for idleness
    EXPIRED = "expired"  # no heartbeat within its timeout
    REPLACED = "replaced"  # another address took its id, or it moved to another cluster


class _Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all kinds: `kind` is the tag on the wire of the journal."""


class ServerStarted(_Event, tag_field="kind", tag="server_started"):
    """This process began to serve."""

    version: str
    listen: str


class ServerStopped(_Event, tag_field="kind", tag="server_stopped"):
    """This process stopped in order."""

    reason: str


class BrokerUp(_Event, tag_field="kind", tag="broker_up"):
    """A member of a group came: its address was not under this id before."""

    cluster: str
    broker: str
    broker_id: int
    addr: str
    ha_addr: str | None = None
    timeout_ms: int
    acting_master: bool
    zone: str | None = None
    data_version: DataVersion | None = None
    filter_servers: tuple[str, ...] = ()


class BrokerChanged(_Event, tag_field="kind", tag="broker_changed"):
    """A living member changed something about itself or its group; carries the whole new state."""

    cluster: str
    broker: str
    broker_id: int
    before_id: int  # differs from broker_id on a role switch
    addr: str
    ha_addr: str | None = None
    timeout_ms: int
    acting_master: bool
    zone: str | None = None
    data_version: DataVersion | None = None
    filter_servers: tuple[str, ...] = ()


class BrokerDown(_Event, tag_field="kind", tag="broker_down"):
    """A member of a group left."""

    cluster: str
    broker: str
    broker_id: int
    addr: str
    reason: DownReason


class QueueChange(msgspec.Struct, frozen=True):
    """A topic's queues on a broker before and after."""

    before: QueueData
    after: QueueData


class TopicCause(StrEnum):
    """Why queues of a broker changed."""

    REGISTRATION = "registration"  # the broker said so (103)
    REGISTER_TOPIC = "register_topic"  # one topic was registered by itself (217)
    ACTING_MASTER = "acting_master"  # its group lost its master: read only
    REMOVAL = "removal"  # its group left


class TopicsChanged(_Event, tag_field="kind", tag="topics_changed"):
    """Topics of one broker were added, changed or removed, and why."""

    broker: str
    cause: TopicCause
    added: dict[str, QueueData] = {}
    changed: dict[str, QueueChange] = {}
    removed: tuple[str, ...] = ()


class MappingsChanged(_Event, tag_field="kind", tag="mappings_changed"):
    """Static-topic mappings under a broker's name: announced, or gone with it (`removed` names topics)."""

    broker: str
    mappings: dict[str, TopicQueueMappingInfo] = {}
    removed: tuple[str, ...] = ()


class PermissionWiped(_Event, tag_field="kind", tag="permission_wiped"):
    """Write permission was taken from all topics of a broker (205)."""

    broker: str
    topics: int


class PermissionRestored(_Event, tag_field="kind", tag="permission_restored"):
    """Write permission was given back to all topics of a broker (327)."""

    broker: str
    topics: int


class TopicDeleted(_Event, tag_field="kind", tag="topic_deleted"):
    """A topic was deleted on these brokers, queues and static mappings (216)."""

    topic: str
    cluster: str | None = None
    brokers: tuple[str, ...] = ()


class KvChanged(_Event, tag_field="kind", tag="kv_changed"):
    """A KV entry was put (`after` is the value) or deleted (`after` is None)."""

    namespace: str
    key: str
    before: str | None = None
    after: str | None = None
    deleted: bool = False


class SettingChanged(_Event, tag_field="kind", tag="setting_changed"):
    """A run-time setting took another value (318)."""

    key: str
    before: str
    after: str


class RequestDenied(_Event, tag_field="kind", tag="request_denied"):
    """A request was refused with NO_PERMISSION."""

    code: int
    why: str


RouteEvent: TypeAlias = (
    BrokerUp
    | BrokerChanged
    | BrokerDown
    | TopicsChanged
    | MappingsChanged
    | PermissionWiped
    | PermissionRestored
    | TopicDeleted
)
Event: TypeAlias = RouteEvent | ServerStarted | ServerStopped | KvChanged | SettingChanged | RequestDenied
