"""Events: every change of the tables, in order. Pure values; the lake imports this module only.

Replaying the route events of a journal rebuilds the route tables that wrote it. `controller_events` has those of the
Controller.
"""

from enum import StrEnum
from typing import NamedTuple, TypeAlias

from routebook.controller_events import ControllerEvent
from routebook.event_base import BaseEvent, RequestEvent
from routebook.model import DataVersion, TopicQueueMappingInfo


class DownReason(StrEnum):
    """Why a broker left the tables."""

    UNREGISTERED = "unregistered"  # by its own request (104 over its own connection)
    DEREGISTERED = "deregistered"  # by an operator (104 over another connection)
    CLOSED = "closed"  # its connection closed
    IDLE = "idle"  # its connection was closed because it was idle
    EXPIRED = "expired"  # no heartbeat within its timeout
    REPLACED = "replaced"  # another address took its id, or it moved to another cluster


class ServerStarted(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="server_started"):
    """The server started.

    `recovered` brokers are served as before until they return or expire. With `cold` the tables started empty,
    although brokers may have been registered before.
    """

    version: str
    listen: str
    recovered: int = 0
    cold: bool = False


class ServerStopped(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="server_stopped"):
    """The server shut down cleanly."""

    reason: str


class BrokerUp(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="broker_up"):
    """A broker joined its group: a new address or id."""

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


class BrokerChanged(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="broker_changed"):
    """A registered broker changed something about itself or its group; contains the complete new state."""

    cluster: str
    broker: str
    broker_id: int
    before_id: int  # differs from broker_id after a role change
    addr: str
    ha_addr: str | None = None
    timeout_ms: int
    acting_master: bool
    zone: str | None = None
    data_version: DataVersion | None = None
    filter_servers: tuple[str, ...] = ()


class BrokerReturned(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="broker_returned"):
    """A broker that was recovered after a restart, or kept by expiry protection, registered again.

    Its routes were available throughout. Changes are reported by other events.
    """

    cluster: str
    broker: str
    broker_id: int
    addr: str


class BrokerDown(RequestEvent, frozen=True, kw_only=True, tag_field="kind", tag="broker_down"):
    """A broker left its group."""

    cluster: str
    broker: str
    broker_id: int
    addr: str
    reason: DownReason


class Queues(NamedTuple):
    """A topic's queues on a broker; in the journal a compact `[6,8,8,0]`."""

    perm: int
    read: int
    write: int
    flag: int


class QueueChange(NamedTuple):
    """Queues before and after a change; in the journal a pair."""

    before: Queues
    after: Queues


class TopicCause(StrEnum):
    """Why the queues of a broker changed."""

    REGISTRATION = "registration"  # the broker announced it (103)
    REGISTER_TOPIC = "register_topic"  # a single topic was registered (217)
    ACTING_MASTER = "acting_master"  # its group lost its master and is read-only
    REMOVAL = "removal"  # its group left


class TopicsChanged(RequestEvent, frozen=True, kw_only=True, tag_field="kind", tag="topics_changed"):
    """Topics of one broker were added, changed or removed."""

    broker: str
    cause: TopicCause
    added: dict[str, Queues] = {}
    changed: dict[str, QueueChange] = {}
    removed: tuple[str, ...] = ()


class MappingsChanged(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="mappings_changed"):
    """Static-topic mappings of a broker were announced, or removed with it (`removed` contains topics)."""

    broker: str
    mappings: dict[str, TopicQueueMappingInfo] = {}
    removed: tuple[str, ...] = ()


class PermissionWiped(RequestEvent, frozen=True, kw_only=True, tag_field="kind", tag="permission_wiped"):
    """The write permission of all topics of a broker was removed (205)."""

    broker: str
    topics: int


class PermissionRestored(RequestEvent, frozen=True, kw_only=True, tag_field="kind", tag="permission_restored"):
    """The write permission of all topics of a broker was restored (327)."""

    broker: str
    topics: int


class TopicDeleted(RequestEvent, frozen=True, kw_only=True, tag_field="kind", tag="topic_deleted"):
    """The queues and static mappings of a topic were deleted on these brokers (216)."""

    topic: str
    cluster: str | None = None
    brokers: tuple[str, ...] = ()


class KvChanged(RequestEvent, frozen=True, kw_only=True, tag_field="kind", tag="kv_changed"):
    """A KV entry was put (`after` is the value) or deleted (`after` is None)."""

    namespace: str
    key: str
    before: str | None = None
    after: str | None = None
    deleted: bool = False


class SettingChanged(RequestEvent, frozen=True, kw_only=True, tag_field="kind", tag="setting_changed"):
    """A setting was changed at run time (318)."""

    key: str
    before: str
    after: str


class RequestDenied(RequestEvent, frozen=True, kw_only=True, tag_field="kind", tag="request_denied"):
    """A request was rejected with NO_PERMISSION; over HTTP with 401 or 403, and then `code` is 0.

    `count` is the number of equal denials (peer address, code and reason) within a minute, after the first. A row
    without a peer counts all others when there were too many different ones in a minute.
    """

    code: int
    why: str
    count: int = 1


class HeartbeatMinute(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="heartbeat_minute"):
    """The heartbeats of a broker in one minute.

    `gaps_ms` is a histogram of the gaps that ended in this minute, by log bucket (`routebook.rollup`).
    """

    cluster: str
    broker: str
    addr: str
    minute_ms: int  # start of the minute
    count: int
    gaps_ms: dict[int, int] = {}
    max_gap_ms: int = 0


class LookupMinute(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="lookup_minute"):
    """The look-ups of one topic by one client in one minute.

    With `others` the row counts all look-ups beyond the limit on keys; it has no topic and no client.
    """

    minute_ms: int  # start of the minute
    topic: str = ""
    client: str = ""
    language: str = ""
    version: int = 0
    count: int
    misses: int = 0
    bytes: int = 0
    others: bool = False


class PeerDiverged(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="peer_diverged"):
    """Another NameServer has had different routes for longer than propagation takes."""

    peer: str
    since_ms: int
    differences: int
    topics: tuple[str, ...] = ()  # examples
    brokers: tuple[str, ...] = ()


class PeerAgreed(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="peer_agreed"):
    """Another NameServer has the same routes again."""

    peer: str
    diverged_ms: int  # duration of the difference


class PreservationEntered(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="preservation_entered"):
    """Expiry protection started: too many brokers became silent at once, and their routes are kept."""

    silent: int
    known: int
    window_ms: int
    addrs: tuple[str, ...] = ()


class PreservationEnd(StrEnum):
    """Why expiry protection ended."""

    RETURNED = "returned"  # enough of the silent brokers sent heartbeats again
    GONE = "gone"  # most peers miss the same brokers
    TIMED_OUT = "timed_out"  # the maximum duration was reached
    SWITCHED_OFF = "switched_off"  # disabled by a setting


class PreservationLeft(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="preservation_left"):
    """Expiry protection ended: brokers that are still silent expire."""

    reason: PreservationEnd
    lasted_ms: int
    returned: int
    silent: int


class JournalHole(BaseEvent, frozen=True, kw_only=True, tag_field="kind", tag="journal_hole"):
    """The records `first_missing` to `last_missing` are not in the journal.

    `count` can be larger than this range: in a long outage not every event gets a number. `certain` is false after a
    crash: numbering resumed after all numbers that may have been in use, and most of them were not.
    """

    first_missing: int
    last_missing: int
    count: int
    why: str
    certain: bool = True


RouteEvent: TypeAlias = (
    BrokerUp
    | BrokerChanged
    | BrokerReturned
    | BrokerDown
    | TopicsChanged
    | MappingsChanged
    | PermissionWiped
    | PermissionRestored
    | TopicDeleted
)
Event: TypeAlias = (
    RouteEvent
    | ServerStarted
    | ServerStopped
    | KvChanged
    | SettingChanged
    | RequestDenied
    | HeartbeatMinute
    | LookupMinute
    | PeerDiverged
    | PeerAgreed
    | PreservationEntered
    | PreservationLeft
    | JournalHole
    | ControllerEvent
)
