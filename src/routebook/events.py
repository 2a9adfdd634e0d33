"""What happened: all the tables learn is one of these, in order. Pure values; the lake imports this module alone.

Replaying the route events of a journal from empty rebuilds the route tables that wrote it.
"""

from enum import StrEnum
from typing import NamedTuple, TypeAlias

import msgspec

from routebook.model import DataVersion, TopicQueueMappingInfo


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


class Asked(_Event, frozen=True, kw_only=True):
    """Base of the kinds that a request brings about: who sent it, as far as is known."""

    peer: str | None = None  # the caller's address
    who: str | None = None  # the name it proved, where authentication is on
    code: int | None = None  # the request code


class ServerStarted(_Event, frozen=True, kw_only=True, tag_field="kind", tag="server_started"):
    """This process began to serve.

    `recovered` brokers are served as before until they return or expire. `cold` if the tables began empty though
    there may have been brokers before: of these nothing more is known.
    """

    version: str
    listen: str
    recovered: int = 0
    cold: bool = False


class ServerStopped(_Event, frozen=True, kw_only=True, tag_field="kind", tag="server_stopped"):
    """This process stopped in order."""

    reason: str


class BrokerUp(_Event, frozen=True, kw_only=True, tag_field="kind", tag="broker_up"):
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


class BrokerChanged(_Event, frozen=True, kw_only=True, tag_field="kind", tag="broker_changed"):
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


class BrokerReturned(_Event, frozen=True, kw_only=True, tag_field="kind", tag="broker_returned"):
    """A member that was known from before a restart, or kept while it was silent, registered again.

    It was up all the time, as far as routes show. If anything about it is new, other events tell that.
    """

    cluster: str
    broker: str
    broker_id: int
    addr: str


class BrokerDown(Asked, frozen=True, kw_only=True, tag_field="kind", tag="broker_down"):
    """A member of a group left."""

    cluster: str
    broker: str
    broker_id: int
    addr: str
    reason: DownReason


class Queues(NamedTuple):
    """A topic's queues on a broker; in the journal `[6,8,8,0]`, for thousands of topics come at once."""

    perm: int
    read: int
    write: int
    flag: int


class QueueChange(NamedTuple):
    """The same before and after; in the journal a pair."""

    before: Queues
    after: Queues


class TopicCause(StrEnum):
    """Why queues of a broker changed."""

    REGISTRATION = "registration"  # the broker said so (103)
    REGISTER_TOPIC = "register_topic"  # one topic was registered by itself (217)
    ACTING_MASTER = "acting_master"  # its group lost its master: read only
    REMOVAL = "removal"  # its group left


class TopicsChanged(Asked, frozen=True, kw_only=True, tag_field="kind", tag="topics_changed"):
    """Topics of one broker were added, changed or removed, and why."""

    broker: str
    cause: TopicCause
    added: dict[str, Queues] = {}
    changed: dict[str, QueueChange] = {}
    removed: tuple[str, ...] = ()


class MappingsChanged(_Event, frozen=True, kw_only=True, tag_field="kind", tag="mappings_changed"):
    """Static-topic mappings under a broker's name: announced, or gone with it (`removed` names topics)."""

    broker: str
    mappings: dict[str, TopicQueueMappingInfo] = {}
    removed: tuple[str, ...] = ()


class PermissionWiped(Asked, frozen=True, kw_only=True, tag_field="kind", tag="permission_wiped"):
    """Write permission was taken from all topics of a broker (205)."""

    broker: str
    topics: int


class PermissionRestored(Asked, frozen=True, kw_only=True, tag_field="kind", tag="permission_restored"):
    """Write permission was given back to all topics of a broker (327)."""

    broker: str
    topics: int


class TopicDeleted(Asked, frozen=True, kw_only=True, tag_field="kind", tag="topic_deleted"):
    """A topic was deleted on these brokers, queues and static mappings (216)."""

    topic: str
    cluster: str | None = None
    brokers: tuple[str, ...] = ()


class KvChanged(Asked, frozen=True, kw_only=True, tag_field="kind", tag="kv_changed"):
    """A KV entry was put (`after` is the value) or deleted (`after` is None)."""

    namespace: str
    key: str
    before: str | None = None
    after: str | None = None
    deleted: bool = False


class SettingChanged(Asked, frozen=True, kw_only=True, tag_field="kind", tag="setting_changed"):
    """A run-time setting took another value (318)."""

    key: str
    before: str
    after: str


class RequestDenied(Asked, frozen=True, kw_only=True, tag_field="kind", tag="request_denied"):
    """A request was refused with NO_PERMISSION; over HTTP, with 401 or 403, where `code` is 0.

    `count` tells of more of the same (this peer's address, code and why) within a minute, after the first. A row
    without a peer stands for all that came when the minute had its fill of distinct ones.
    """

    code: int
    why: str
    count: int = 1


class HeartbeatMinute(_Event, frozen=True, kw_only=True, tag_field="kind", tag="heartbeat_minute"):
    """How regularly a broker gave sign of life in one minute.

    `gaps_ms` counts the gaps that ended in this minute, by the greatest gap of their log bucket (`routebook.rollup`).
    """

    cluster: str
    broker: str
    addr: str
    minute_ms: int  # when the minute began
    count: int
    gaps_ms: dict[int, int] = {}
    max_gap_ms: int = 0


class LookupMinute(_Event, frozen=True, kw_only=True, tag_field="kind", tag="lookup_minute"):
    """How often one client asked for one topic's route in one minute.

    `others` is the row of all that came when the minute had its fill of distinct keys: it names nobody.
    """

    minute_ms: int  # when the minute began
    topic: str = ""
    client: str = ""
    language: str = ""
    version: int = 0
    count: int
    misses: int = 0
    bytes: int = 0
    others: bool = False


class PeerDiverged(_Event, frozen=True, kw_only=True, tag_field="kind", tag="peer_diverged"):
    """Another NameServer has had other routes for longer than propagation explains."""

    peer: str
    since_ms: int
    differences: int
    topics: tuple[str, ...] = ()  # some of them, for a person to begin with
    brokers: tuple[str, ...] = ()


class PeerAgreed(_Event, frozen=True, kw_only=True, tag_field="kind", tag="peer_agreed"):
    """Another NameServer has the same routes again."""

    peer: str
    diverged_ms: int  # for how long it had not


class PreservationEntered(_Event, frozen=True, kw_only=True, tag_field="kind", tag="preservation_entered"):
    """So many brokers fell silent at once that this NameServer suspects its own network and keeps their routes."""

    silent: int
    known: int
    window_ms: int
    addrs: tuple[str, ...] = ()


class PreservationEnd(StrEnum):
    """Why routes are no longer preserved."""

    RETURNED = "returned"  # enough of the silent brokers gave sign of life
    TIMED_OUT = "timed_out"  # it lasted as long as the setting allows
    SWITCHED_OFF = "switched_off"  # by a setting


class PreservationLeft(_Event, frozen=True, kw_only=True, tag_field="kind", tag="preservation_left"):
    """Routes are no longer preserved: brokers that are still silent expire as ever."""

    reason: PreservationEnd
    lasted_ms: int
    returned: int
    silent: int


class JournalHole(_Event, frozen=True, kw_only=True, tag_field="kind", tag="journal_hole"):
    """Records `first_missing` to `last_missing` are not in the journal, and why.

    `count` is greater than the numbers are many where an outage was so long that not each event got a number.
    `certain` is false after a crash: numbering went on past every number that may have been handed out, and most of
    them never were.
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
)
