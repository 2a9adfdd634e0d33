"""Converts journal lines to Arrow batches with columns of `bronze.events`, without Spark."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

from routebook.errors import RoutebookError
from routebook.lake.tables.kinds import ENVELOPE, FORMAT_VERSION, KINDS

BATCH_ROWS: Final = 4096
_DAY_MS: Final = 86_400_000

Fields = Mapping[str, Any]
Extractor = Callable[[Fields], Any]
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class NotAnEvent(RoutebookError):
    """A line that is not a journal record, or has a later format."""


def _time(name: str) -> Extractor:
    return lambda fields: None if fields.get(name) is None else fields[name] * 1000  # Arrow uses microseconds


def _json(name: str) -> Extractor:
    return lambda fields: None if fields.get(name) is None else msgspec.json.encode(fields[name]).decode()


def _pairs(name: str) -> Extractor:
    return lambda fields: None if fields.get(name) is None else list(fields[name].items())


# Columns that differ from the field of the same name. `version` and `topics` have two types, depending on the kind.
_EXTRACTORS: Final[dict[str, Extractor]] = {
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
_COMMON: Final = frozenset((*ENVELOPE, "day"))
# Lines omit fields that have their default value.
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
    """The lines with `after < seq <= upto` as record batches; each with its location, for errors. Raises NotAnEvent."""
    extractors = [(name, _extractor(name)) for name in schema.names]
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
        for name, extract in extractors:
            if name in _COMMON:
                value = extract(fields)
            elif defaults is None:  # a kind of a later release
                value = raw.decode(errors="replace") if name == "raw" else None
            elif name in defaults:
                value = extract(fields)
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
    """The fields of a line, which include `seq`, `at` and `kind`."""
    try:
        fields = _decode(raw)
    except msgspec.DecodeError as error:
        raise NotAnEvent(f"{where}: not a journal line: {error}") from None
    if fields.get("v") != FORMAT_VERSION:
        raise NotAnEvent(f"{where}: format {fields.get('v')}, and this release reads {FORMAT_VERSION}")
    if not (isinstance(fields.get("seq"), int) and isinstance(fields.get("at"), int) and fields.get("kind")):
        raise NotAnEvent(f"{where}: not a journal line: seq, at or kind is missing")
    return fields


def _extractor(name: str) -> Extractor:
    return _EXTRACTORS.get(name) or (lambda fields: fields.get(name))


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
