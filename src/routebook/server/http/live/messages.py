"""Messages of the console's WebSocket: JSON with a `type`; journal records are shortened. Pure."""

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from routebook.codes import PERM_WRITE
from routebook.events import TopicCause, TopicsChanged
from routebook.journal.read.select import topics_of
from routebook.journal.record import Record, UnknownEvent
from routebook.lenient_json import encode_json
from routebook.model import DataVersion
from routebook.server.http.live.broker_rows import BrokerRow
from routebook.server.http.live.overview import Overview

Scalar: TypeAlias = str | float | bool | None

_MAX_NAMES: Final = 20
_MAX_CHARS: Final = 1000  # of a value; the journal has all of it
_COLUMNS: Final = frozenset(
    {"broker", "broker_id", "addr", "cluster", "reason", "cause", "topic", "peer", "who", "code"}
)
# lists that are sent, not only their sizes
_LISTS: Final = frozenset({"brokers", "addrs", "in_sync", "before_in_sync", "broker_ids", "members"})


class LiveEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A shortened record. `topics` are the first of its topics, `counts` the sizes of its tables."""

    seq: int
    at: int
    kind: str
    broker: str | None = None
    broker_id: int | None = None
    addr: str | None = None
    cluster: str | None = None
    reason: str | None = None
    cause: str | None = None
    topic: str | None = None
    topics: list[str] = []
    counts: dict[str, int] = {}
    peer: str | None = None
    who: str | None = None
    code: int | None = None
    fields: dict[str, Scalar]


def summarize(record: Record) -> LiveEvent:
    event = record.event
    items: Iterable[tuple[str, Any]]
    if isinstance(event, UnknownEvent):
        items = event.fields.items()
    else:
        items = ((name, getattr(event, name)) for name in event.__struct_fields__)
    columns: dict[str, Any] = {}
    fields: dict[str, Scalar] = {}
    counts: dict[str, int] = {}
    for name, value in items:
        if name in _COLUMNS:
            if isinstance(value, str | int) and not (isinstance(value, str) and name in ("broker_id", "code")):
                columns[name] = str(value)[:_MAX_CHARS] if isinstance(value, str) else value
        elif value is None or isinstance(value, bool | int | float):
            fields[name] = value
        elif isinstance(value, str):
            fields[name] = value[:_MAX_CHARS]
        elif isinstance(value, DataVersion):
            fields[name] = value.counter
        elif isinstance(value, dict | tuple | list):
            counts[name] = len(value)
            if len(value) and not isinstance(value, dict) and name in _LISTS:
                fields[name] = ", ".join(map(str, value[:_MAX_NAMES]))
    if isinstance(event, TopicsChanged) and event.cause is TopicCause.REGISTRATION:
        undone = sum(not was.perm & PERM_WRITE and bool(now.perm & PERM_WRITE) for was, now in event.changed.values())
        if undone:
            fields["writable_again"] = undone  # the registration undoes a wipe
    topics = [] if "topic" in columns else [topic[:_MAX_CHARS] for topic in islice(topics_of(event), _MAX_NAMES)]
    return LiveEvent(
        seq=record.seq, at=record.at, kind=record.kind, topics=topics, counts=counts, fields=fields, **columns
    )


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="hello"):
    """First message: the server. `seq` is the sequence number of its newest record."""

    ns: str
    boot: str
    version: str
    listen: str
    started_at_ms: int
    now_ms: int
    seq: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="snapshot"):
    """Complete state; replaces all earlier messages."""

    at_ms: int
    overview: Overview
    brokers: list[BrokerRow]


class OverviewNow(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="overview"):
    """New key figures, about once a second."""

    overview: Overview


class BrokersChanged(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="brokers"):
    """New or changed rows, and the keys of removed rows."""

    at_ms: int
    changed: list[BrokerRow]
    gone: list[str]


class BeatsNow(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="beats"):
    """Times of new heartbeats, by row key."""

    at_ms: int
    seen: dict[str, int]


class Events(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="events"):
    """New events, in order."""

    events: list[LiveEvent]


class Missed(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="missed"):
    """A range of records that is not sent, and the reason."""

    first: int
    last: int
    why: str


class Dropped(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="dropped"):
    """The console read too slowly; the server closes the connection."""

    resume_after: int
    why: str = "read too slowly"


class Stopping(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="stopping"):
    """The server is stopping and closes the connection."""

    resume_after: int


Message: TypeAlias = Hello | Snapshot | OverviewNow | BrokersChanged | BeatsNow | Events | Missed | Dropped | Stopping

_Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=1000)]
_Names: TypeAlias = Annotated[list[_Name], msgspec.Meta(max_length=100)]


class Watch(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="watch"):
    """Request of a console: the events to send from now on. An event must match every list that is not empty."""

    kinds: _Names = []
    brokers: _Names = []
    topics: _Names = []
    off: bool = False


decode_watch: Final = msgspec.json.Decoder(Watch).decode


def encode_message(message: Message) -> str:
    """The JSON text of a message."""
    return encode_json(message).decode()
