"""DuckDB over planned files: one connection for one question, which sees the lake's tables and nothing else.

No extension is loaded or fetched, no file but the planned ones can be opened, no setting changed. Columns are found in
files by Iceberg's numbers, so files from before a column was added have nulls there.
"""

import json
import re
from collections.abc import Iterable
from typing import Final

import duckdb
from duckdb import DuckDBPyConnection

from routebook.lake.errors import BrokenLake
from routebook.lake.read.catalog import Plan
from routebook.lake.read.duckdb_types import quoted
from routebook.lake.tables.table import Layer

SEARCH: Final = (Layer.GOLD, Layer.SILVER, Layer.META, Layer.BRONZE)  # where a name without a schema is looked for


def connect(plans: Iterable[Plan], *, memory_mb: int, threads: int = 2) -> DuckDBPyConnection:
    """A connection in which these tables are views; times are TIMESTAMP, in UTC."""
    plans = list(plans)
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
            "errors_as_json": "true",
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": "",
            "threads": threads,
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    for layer in SEARCH:
        connection.execute(f"CREATE SCHEMA {layer}")
    for plan in plans:
        _define(connection, plan)
    connection.execute(f"SET search_path = '{','.join(SEARCH)}'")
    connection.execute(f"SET allowed_paths = {_list(file for plan in plans for file in plan.files)}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def mentioned(sql: str, names: Iterable[str]) -> list[str]:
    """Those of these tables (`gold.broker_sessions`) whose name stands anywhere in the SQL."""
    words = set(re.findall(r"\w+", sql.lower()))
    return [name for name in names if name.rpartition(".")[2].lower() in words]


def explained(error: Exception) -> tuple[str, int | None]:
    """`Parser Error: {"exception_message":…,"position":"10"}` → its sentence, and the place in bytes."""
    text = str(error)
    _, brace, rest = text.partition("{")
    if brace:
        try:
            told = json.loads("{" + rest)
        except ValueError:
            told = {}
        if "exception_message" in told:
            position = told.get("position")
            message = " ".join(told["exception_message"].split())
            return message, None if position is None else int(position)
    return " ".join(text.split()), None


def _define(connection: DuckDBPyConnection, plan: Plan) -> None:
    layer, _, name = plan.path.partition(".")
    if plan.arrow is not None:
        connection.register(f"arrow_{layer}_{name}", plan.arrow)
        source = f"arrow_{layer}_{name}"
    elif plan.files:
        numbered = ", ".join(
            f"{field.number}: {{name: {_text(field.name)}, type: {_text(field.type)}, default_value: NULL}}"
            for field in plan.fields
        )
        source = f"read_parquet({_list(plan.files)}, schema = MAP {{{numbered}}}, hive_partitioning = false)"
    else:
        nothing = ", ".join(f"NULL::{field.type} AS {quoted(field.name)}" for field in plan.fields)
        source = f"(SELECT {nothing} WHERE false)"
    columns = ", ".join(
        f"{quoted(field.name)}{'::TIMESTAMP' if field.type == 'TIMESTAMPTZ' else ''} AS {quoted(field.name)}"
        for field in plan.fields
    )
    try:
        connection.execute(f"CREATE VIEW {layer}.{quoted(name)} AS SELECT {columns} FROM {source}")  # noqa: S608 - quoted
    except duckdb.Error as error:
        connection.close()
        raise BrokenLake(f"{plan.path}: {explained(error)[0]}; was part of the lake removed?") from None


def _list(texts: Iterable[str]) -> str:
    return "[" + ", ".join(map(_text, texts)) + "]"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
