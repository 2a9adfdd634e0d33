"""DuckDB connections in which the planned tables are views; one connection per query.

Extensions, files outside the plan, and changes of settings are disabled. Columns are matched by Iceberg field id: a
column added later is null in older files.
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
from routebook.lake.read.object_store import ObjectStores
from routebook.lake.tables.table import Layer

SEARCH_PATH: Final = (Layer.GOLD, Layer.SILVER, Layer.META, Layer.BRONZE)  # for names without a schema


def connect(plans: Iterable[Plan], stores: ObjectStores, *, memory_mb: int, threads: int = 2) -> DuckDBPyConnection:
    """A connection with these tables as views. Times are TIMESTAMP in UTC."""
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
    if any(file.startswith("s3://") for plan in plans for file in plan.files):
        connection.register_filesystem(stores.duckdb())
    for layer in SEARCH_PATH:
        connection.execute(f"CREATE SCHEMA {layer}")
    for plan in plans:
        _define(connection, plan)
    connection.execute(f"SET search_path = '{','.join(SEARCH_PATH)}'")
    connection.execute(f"SET allowed_paths = {_list(file for plan in plans for file in plan.files)}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def mentioned(sql: str, names: Iterable[str]) -> list[str]:
    """The tables (`gold.broker_sessions`) whose name occurs in the SQL."""
    words = set(re.findall(r"\w+", sql.lower()))
    return [name for name in names if name.rpartition(".")[2].lower() in words]


def error_details(error: Exception) -> tuple[str, int | None]:
    """Message and byte offset of an error such as `Parser Error: {"exception_message":…,"position":"10"}`."""
    text = str(error)
    _, brace, rest = text.partition("{")
    if brace:
        try:
            details = json.loads("{" + rest)
        except ValueError:
            details = {}
        if "exception_message" in details:
            position = details.get("position")
            message = " ".join(details["exception_message"].split())
            return message, None if position is None else int(position)
    return " ".join(text.split()), None


def _define(connection: DuckDBPyConnection, plan: Plan) -> None:
    layer, _, name = plan.path.partition(".")
    if plan.files:
        by_id = ", ".join(
            f"{field.number}: {{name: {_text(field.name)}, type: {_text(field.type)}, default_value: NULL}}"
            for field in plan.fields
        )
        source = f"read_parquet({_list(plan.files)}, schema = MAP {{{by_id}}}, hive_partitioning = false)"
    else:
        nulls = ", ".join(f"NULL::{field.type} AS {quoted(field.name)}" for field in plan.fields)
        source = f"(SELECT {nulls} WHERE false)"
    columns = ", ".join(
        f"{quoted(field.name)}{'::TIMESTAMP' if field.type == 'TIMESTAMPTZ' else ''} AS {quoted(field.name)}"
        for field in plan.fields
    )
    try:
        connection.execute(f"CREATE VIEW {layer}.{quoted(name)} AS SELECT {columns} FROM {source}")  # noqa: S608 - quoted
    except duckdb.Error as error:
        connection.close()
        raise BrokenLake(
            f"{plan.path}: {error_details(error)[0]}; check whether files of the lake were removed"
        ) from None


def _list(texts: Iterable[str]) -> str:
    return "[" + ", ".join(map(_text, texts)) + "]"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
