"""A journal record shortened for the console: large tables become a count and a few names. Pure."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec

from routebook.journal.read.select import topics_of
from routebook.journal.record import Record, UnknownEvent
from routebook.model import DataVersion

Scalar: TypeAlias = str | float | bool | None

_MAX_NAMES: Final = 20
_MAX_CHARS: Final = 1000  # of a value; the journal has all of it
_COLUMNS: Final = frozenset(
    {"broker", "broker_id", "addr", "cluster", "reason", "cause", "topic", "peer", "who", "code"}
)


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
            if len(value) and not isinstance(value, dict) and name in ("brokers", "addrs"):
                fields[name] = ", ".join(map(str, value[:_MAX_NAMES]))
    topics = [] if "topic" in columns else [topic[:_MAX_CHARS] for topic in islice(topics_of(event), _MAX_NAMES)]
    return LiveEvent(
        seq=record.seq, at=record.at, kind=record.kind, topics=topics, counts=counts, fields=fields, **columns
    )
