"""Formats records, damage and holes as text for people. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Hole
from routebook.journal.record import Record, UnknownEvent

_MAX_ITEMS = 3  # shown of a list


def describe_event(record: Record) -> str:
    """Format the event's own fields that differ from their defaults; long lists are shortened."""
    if isinstance(record.event, UnknownEvent):
        fields = record.event.fields
    else:
        fields = msgspec.structs.asdict(record.event)
        defaults = {field.name: field.default for field in msgspec.structs.fields(record.event)}
        fields = {name: value for name, value in fields.items() if value != defaults[name]}
    return " ".join(f"{name}={_value(value)}" for name, value in fields.items() if value not in (None, (), {}))


def describe_damage(damage: Damage) -> str:
    """Format the place and the reason."""
    place = f", line {damage.line} (byte {damage.offset}, {damage.size} bytes)" if damage.line else ""
    saved = f"; set aside as {damage.saved_as}" if damage.saved_as else ""
    return f"{damage.file}{place}: {damage.reason}{saved}"


def describe_hole(hole: Hole) -> str:
    """Format the numbers and the reason."""
    numbers = f"record {hole.first}" if hole.first == hole.last else f"records {hole.first} to {hole.last}"
    if not hole.certain:
        return f"{numbers}: unused, or lost in a crash ({hole.why})"
    return f"{numbers} missing: {hole.why or 'removed or damaged; the journal states no reason'}"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return str(value) if value and " " not in value else repr(str(value))
    if isinstance(value, Mapping):
        return _some([str(key) for key in value])
    if isinstance(value, list | tuple):
        return _some([_value(item) for item in value])
    if isinstance(value, msgspec.Struct):
        return msgspec.json.encode(value).decode()
    return str(value)


def _some(texts: list[str]) -> str:
    more = f" …+{len(texts) - _MAX_ITEMS}" if len(texts) > _MAX_ITEMS else ""
    return f"[{' '.join(texts[:_MAX_ITEMS])}{more}]"
