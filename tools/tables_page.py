"""docs/tables.md, made from the declarations of the tables: `python -m tools.tables_page > docs/tables.md`."""

import sys
from collections.abc import Iterator
from typing import Final

from routebook.lake.tables.ddl import columns_of
from routebook.lake.tables.registry import declared
from routebook.lake.tables.table import Grows, Layer, Table

_ABOUT: Final = {
    Layer.GOLD: "What people ask for.",
    Layer.SILVER: "What gold is made of: intervals at each NameServer.",
    Layer.BRONZE: "What journals say, event by event.",
    Layer.META: "The lake about itself.",
}
_GROWS: Final = {
    Grows.APPEND: "rows are added and stay",
    Grows.BY_SEQ: "a row that is open is ended by later events; others stay",
    Grows.BY_TIME: "a row that is open is ended by later events; others stay",
    Grows.BY_DAY: "days with new events are made again",
    Grows.ALL_BY_DAY: "days with new events are made again",
    Grows.WHOLE: "all of it is made again",
}


def markdown() -> str:
    """The page."""
    return "\n".join(_document()) + "\n"


def _document() -> Iterator[str]:
    yield "# Tables of the lake"
    yield ""
    yield "<!-- Made by tools.tables_page; tests/lake/test_tables_page.py says how to make it again. -->"
    yield ""
    yield "Apache Iceberg tables in the lake's folder; `routebook lake tables` tells what is in them, `routebook lake"
    yield "query` asks them. Times are UTC. An end that is null is open: it had not come when the data ended."
    for layer in (Layer.GOLD, Layer.SILVER, Layer.BRONZE, Layer.META):
        tables = [table for table in declared().values() if table.layer is layer]
        if tables:
            yield from ("", f"## {layer}", "", _ABOUT[layer])
            for table in tables:
                yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield from ("", f"### {table.path}", "", f"{table.doc}.", "")
    partition = f", partitioned by {table.partition}" if table.partition else ""
    yield f"A row is one {', '.join(table.key)}; {_GROWS[table.grows]}{partition}."
    yield ""
    yield "| column | type |"
    yield "|---|---|"
    for name, kind in columns_of(table.columns):
        yield f"| {name} | `{kind}` |"


if __name__ == "__main__":
    sys.stdout.write(markdown())
