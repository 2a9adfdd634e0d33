"""What goes over a console's WebSocket, as JSON with a `type`. Pure."""

from typing import Annotated, Final, TypeAlias

import msgspec

from routebook.lenient_json import encode_json
from routebook.server.http.live.overview import Overview
from routebook.server.http.live.rows import BrokerRow
from routebook.server.http.live.shortened import LiveEvent


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="hello"):
    """Who serves. `seq` is the newest record's number."""

    ns: str
    boot: str
    version: str
    listen: str
    started_at_ms: int
    now_ms: int
    seq: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="snapshot"):
    """Everything as it is: takes the place of all that came before."""

    at_ms: int
    overview: Overview
    brokers: list[BrokerRow]


class OverviewNow(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="overview"):
    """About once a second."""

    overview: Overview


class BrokersChanged(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="brokers"):
    """Rows that are new or otherwise than before, and keys of those that are gone."""

    at_ms: int
    changed: list[BrokerRow]
    gone: list[str]


class BeatsNow(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="beats"):
    """The last sign of life of rows whose has moved, by key."""

    at_ms: int
    seen: dict[str, int]


class Events(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="events"):
    """What happened, in order."""

    events: list[LiveEvent]


class Missed(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="missed"):
    """Records that are not sent."""

    first: int
    last: int
    why: str


class Dropped(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="dropped"):
    """This console read too slowly; the connection ends."""

    resume_after: int
    why: str = "read too slowly"


class Stopping(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="stopping"):
    """The server stops; the connection ends."""

    resume_after: int


Message: TypeAlias = Hello | Snapshot | OverviewNow | BrokersChanged | BeatsNow | Events | Missed | Dropped | Stopping

_Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=1000)]
_Names: TypeAlias = Annotated[list[_Name], msgspec.Meta(max_length=100)]


class Watch(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="watch"):
    """Which events a console wants from now on; of each list that is not empty one must fit."""

    kinds: _Names = []
    brokers: _Names = []
    topics: _Names = []
    off: bool = False


decode_watch: Final = msgspec.json.Decoder(Watch).decode


def text_of(message: Message) -> str:
    """As it is sent; half a surrogate pair as an escape."""
    return encode_json(message).decode()
