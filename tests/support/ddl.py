"""Converts column lists ("ns string, seq bigint, …") to Arrow schemas, to write tables without Spark."""

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

from routebook.lake.tables.ddl import columns_of, split

_PLAIN = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


def arrow_schema(ddl: str) -> pa.Schema:
    """The Arrow schema of a column list."""
    return pa.schema([pa.field(name, _type(kind)) for name, kind in columns_of(ddl)])


def _field(text: str) -> pa.Field:
    name, _, kind = text.strip().partition(":")
    return pa.field(name.strip().strip("`"), _type(kind.strip()))


def _type(text: str) -> pa.DataType:
    outer, angle, rest = text.partition("<")
    if not angle:
        return _PLAIN[text.lower()]
    inner = split(rest.rstrip()[:-1])
    match outer.strip().lower():
        case "array":
            return pa.list_(_type(inner[0]))
        case "map":
            return pa.map_(_type(inner[0]), _type(inner[1]))
        case "struct":
            return pa.struct([_field(part) for part in inner])
    raise ValueError(f"{text}: no such type")
