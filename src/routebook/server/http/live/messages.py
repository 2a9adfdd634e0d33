"""Messages of the console's WebSocket: JSON with a `type`. Pure."""

from typing import Annotated, Final, TypeAlias

import msgspec

from routebook.lenient_json import encode_json
from routebook.server.http.live.broker_rows import BrokerRow
from routebook.server.http.live.event_summary import LiveEvent
from routebook.server.http.live.overview import Overview


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
