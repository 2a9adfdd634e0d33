"""Maps event fields to columns of `bronze.events`; derived from `routebook.events`."""

from typing import Any, Final, NamedTuple, get_args

import msgspec

from routebook.events import Event

FORMAT_VERSION: Final = 1  # the journal format that this release reads
ENVELOPE: Final = ("v", "ns", "boot", "seq", "at", "kind")

# Fields that share a name but differ in meaning get separate columns; times in ms become timestamps.
_RENAMED: Final = {
    ("server_started", "version"): "server_version",
    ("lookup_minute", "version"): "client_version",
    ("permission_wiped", "topics"): "topic_count",
    ("permission_restored", "topics"): "topic_count",
    ("peer_diverged", "topics"): "topic_names",
    ("heartbeat_minute", "minute_ms"): "minute",
    ("lookup_minute", "minute_ms"): "minute",
    ("peer_diverged", "since_ms"): "since",
    ("master_elected", "lost_at_ms"): "lost_at",
    ("no_master_elected", "lost_at_ms"): "lost_at",
}


class Field(NamedTuple):
    """One field of one event kind. Journal lines omit fields that have their default value."""

    column: str
    required: bool
    default: Any  # None: the field has no default


def column_of(kind: str, field: str) -> str:
    """The column of `bronze.events` that holds this field."""
    return _RENAMED.get((kind, field), field)


def _fields(struct: type[Any], kind: str) -> tuple[Field, ...]:
    return tuple(
        Field(column_of(kind, field.name), field.required, _default(field)) for field in msgspec.structs.fields(struct)
    )


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return None if field.default is msgspec.NODEFAULT else field.default


KINDS: Final[dict[str, tuple[Field, ...]]] = {
    str(struct.__struct_config__.tag): _fields(struct, str(struct.__struct_config__.tag)) for struct in get_args(Event)
}
