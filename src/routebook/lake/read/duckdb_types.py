"""Converts Iceberg types and column names to DuckDB SQL."""

from typing import Final

from pyiceberg.types import DecimalType, FixedType, IcebergType, ListType, MapType, StructType

_PLAIN: Final = {
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "timestamp_ns": "TIMESTAMP_NS",
    "timestamptz_ns": "TIMESTAMPTZ",
    "string": "VARCHAR",
    "uuid": "UUID",
    "binary": "BLOB",
}


def type_of(kind: IcebergType) -> str:
    """The DuckDB type for an Iceberg type."""
    if isinstance(kind, StructType):
        return "STRUCT(" + ", ".join(f"{quoted(field.name)} {type_of(field.field_type)}" for field in kind.fields) + ")"
    if isinstance(kind, ListType):
        return f"{type_of(kind.element_type)}[]"
    if isinstance(kind, MapType):
        return f"MAP({type_of(kind.key_type)}, {type_of(kind.value_type)})"
    if isinstance(kind, DecimalType):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if isinstance(kind, FixedType):
        return "BLOB"
    return _PLAIN.get(str(kind), "VARCHAR")


def quoted(name: str) -> str:
    """An SQL identifier in quotes."""
    return '"' + name.replace('"', '""') + '"'
