"""Lines of a journal as Arrow batches with the columns of `bronze.events`, or some of them. Needs no Spark."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

from routebook.errors import RoutebookError
from routebook.lake.tables.kinds import ENVELOPE, FORMAT_VERSION, KINDS

BATCH_ROWS: Final = 4096
_DAY_MS: Final = 86_400_000

Fields = Mapping[str, Any]
Taking = Callable[[Fields], Any]
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class NotAnEvent(RoutebookError):
    """A line that is no record of a journal, or of a later format."""


def _time(name: str) -> Taking:
    return lambda fields: None if fields.get(name) is None else fields[name] * 1000  # Arrow's are in microseconds


def _json(name: str) -> Taking:
    return lambda fields: None if fields.get(name) is None else msgspec.json.encode(fields[name]).decode()


def _pairs(name: str) -> Taking:
    return lambda fields: None if fields.get(name) is None else list(fields[name].items())


# what a column is where it is not the field of its own name; `version` and `topics` have two types, by their kind
_TAKEN: Final[dict[str, Taking]] = {
    "at": _time("at"),
    "day": lambda fields: fields["at"] // _DAY_MS,
    "added": _pairs("added"),
    "changed": _pairs("changed"),
    "mappings": _json("mappings"),
    "topic_count": lambda fields: fields.get("topics"),
    "topic_names": lambda fields: fields.get("topics"),
    "minute": _time("minute_ms"),
    "gaps_ms": _pairs("gaps_ms"),
    "client_version": lambda fields: fields.get("version"),
    "since": _time("since_ms"),
    "server_version": lambda fields: fields.get("version"),
}
_OF_ALL: Final = frozenset((*ENVELOPE, "day"))
# Lines leave out what has its default; the table does not.
_DEFAULTS: Final = {
    kind: {field.column: "{}" if field.column == "mappings" else field.default for field in fields}
    for kind, fields in KINDS.items()
}


def batches(
    lines: Iterable[tuple[bytes, str]],
    schema: pa.Schema,
    *,
    after: int = 0,
    upto: int | None = None,
    drop_malformed: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The lines with `after < seq <= upto`, each with where it stands, for errors. Raises NotAnEvent."""
    taking = [(name, _taking(name)) for name in schema.names]
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    rows = 0
    for raw, where in lines:
        try:
            fields = decoded(raw, where)
        except NotAnEvent:
            if drop_malformed:
                continue
            raise
        if upto is not None and fields["seq"] > upto:
            break
        if fields["seq"] <= after:
            continue
        kind = fields["kind"]
        defaults = _DEFAULTS.get(kind)
        for name, take in taking:
            if name in _OF_ALL:
                value = take(fields)
            elif defaults is None:  # of a later release: as it is
                value = raw.decode(errors="replace") if name == "raw" else None
            elif name in defaults:
                value = take(fields)
                value = defaults[name] if value is None else value
            else:
                value = None
            columns[name].append(value)
        rows += 1
        if rows == BATCH_ROWS:
            yield _batch(columns, schema)
            columns, rows = {name: [] for name in schema.names}, 0
    if rows:
        yield _batch(columns, schema)


def decoded(raw: bytes, where: str) -> dict[str, Any]:
    """A line's fields; all have `ns`, `seq`, `at` and `kind`."""
    try:
        fields = _decode(raw)
    except msgspec.DecodeError as error:
        raise NotAnEvent(f"{where}: not a journal's line: {error}") from None
    if fields.get("v") != FORMAT_VERSION:
        raise NotAnEvent(f"{where}: format {fields.get('v')}, and this release reads {FORMAT_VERSION}")
    if not (isinstance(fields.get("seq"), int) and isinstance(fields.get("at"), int) and fields.get("kind")):
        raise NotAnEvent(f"{where}: not a journal's line: it lacks seq, at or kind")
    return fields


def _taking(name: str) -> Taking:
    return _TAKEN.get(name) or (lambda fields: fields.get(name))


def _batch(columns: Mapping[str, list[Any]], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [_array(columns[field.name], field) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: list[Any], field: pa.Field) -> pa.Array:
    if pa.types.is_timestamp(field.type):
        return pa.array(values, pa.int64()).cast(pa.timestamp("us")).cast(field.type)
    if pa.types.is_map(field.type):
        values = [list(value.items()) if isinstance(value, dict) else value for value in values]
    if pa.types.is_date(field.type):
        return pa.array(values, pa.int32()).cast(field.type)
    return pa.array(values, field.type)
