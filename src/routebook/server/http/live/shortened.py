"""A journal record for a page: a table of ten thousand topics becomes a count and a few names. Pure."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec

from routebook.journal.read.select import topics_of
from routebook.journal.record import Record, UnknownEvent
from routebook.model import DataVersion

Scalar: TypeAlias = str | float | bool | None

_MOST_NAMES: Final = 20
_MOST_CHARS: Final = 1000  # of a value; the journal has it whole
_OWN: Final = frozenset({"broker", "broker_id", "addr", "cluster", "reason", "cause", "topic", "peer", "who", "code"})


class LiveEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record, shortened. `topics` are the first of those it is about, `counts` how long its tables are."""

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


def shortened(record: Record) -> LiveEvent:
    event = record.event
    said: Iterable[tuple[str, Any]]
    if isinstance(event, UnknownEvent):
        said = event.fields.items()
    else:
        said = ((name, getattr(event, name)) for name in event.__struct_fields__)
    own: dict[str, Any] = {}
    fields: dict[str, Scalar] = {}
    counts: dict[str, int] = {}
    for name, value in said:
        if name in _OWN:
            if isinstance(value, str | int) and not (isinstance(value, str) and name in ("broker_id", "code")):
                own[name] = str(value)[:_MOST_CHARS] if isinstance(value, str) else value
        elif value is None or isinstance(value, bool | int | float):
            fields[name] = value
        elif isinstance(value, str):
            fields[name] = value[:_MOST_CHARS]
        elif isinstance(value, DataVersion):
            fields[name] = value.counter
        elif isinstance(value, dict | tuple | list):
            counts[name] = len(value)
            if len(value) and not isinstance(value, dict) and name in ("brokers", "addrs"):
                fields[name] = ", ".join(map(str, value[:_MOST_NAMES]))
    topics = [] if "topic" in own else [topic[:_MOST_CHARS] for topic in islice(topics_of(event), _MOST_NAMES)]
    return LiveEvent(seq=record.seq, at=record.at, kind=record.kind, topics=topics, counts=counts, fields=fields, **own)
