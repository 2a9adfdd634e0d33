"""All tables that are declared, by their path: what readers and documents tell of them. Knows nothing of Spark."""

from functools import cache
from importlib import import_module
from types import ModuleType

from routebook.lake.tables.table import Table


@cache
def declared() -> dict[str, Table]:
    """In the order of their layers: what people ask first."""
    modules = ("gold", "gold_routes", "silver", "silver_routes", "bronze", "meta")
    return {table.path: table for name in modules for table in _tables(_module(name))}


def doc_of(path: str) -> str:
    """What a table is, in a line; empty for one that this release does not know."""
    table = declared().get(path)
    return "" if table is None else table.doc


def _tables(module: ModuleType | None) -> list[Table]:
    return [value for value in vars(module).values() if isinstance(value, Table)] if module is not None else []


def _module(name: str) -> ModuleType | None:
    try:
        return import_module(f"routebook.lake.tables.{name}")
    except ModuleNotFoundError:
        return None
