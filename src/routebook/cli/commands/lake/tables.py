"""`routebook lake tables`: lists the tables of a lake, or the columns of one."""

from typing import TYPE_CHECKING, Final

from routebook.cli.framework import argument, command
from routebook.cli.lake.options import as_of_option, location_options, open_for_reading
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_error, print_json, print_table
from routebook.lake.tables.registry import meaning_of

if TYPE_CHECKING:
    from routebook.lake.read.query import Column
    from routebook.lake.read.reader import TableInfo

_LAYERS: Final = ("gold", "silver", "bronze", "meta")


@command("tables")
@argument("table", metavar="[TABLE]", required=False, help="Show the columns of this table.")
@location_options
@as_of_option
@json_option
def tables(*, table: str | None, lake: str, as_of: str | None, as_json: bool) -> int:
    """List the tables, or the columns of one.

    The exit code is 1 if the table does not exist.
    """
    every = open_for_reading(lake).tables(as_of)
    found = [one for one in every if table is None or table in {one.path, one.path.rpartition(".")[2]}]
    if not found:
        print_error(f"{table}: no such table; `routebook lake tables` lists all tables")
        return EXIT_NO
    if as_json:
        print_json([{**one._asdict(), "columns": [_described(one, column) for column in one.columns]} for one in found])
    elif table is not None:
        columns = [_described(found[0], column).values() for column in found[0].columns]
        print_table(("COLUMN", "TYPE", "MEANING"), map(tuple, columns), title=f"{found[0].path}: {found[0].doc}")
    else:
        found.sort(key=lambda one: (_LAYERS.index(one.path.partition(".")[0]), one.path))
        rows = [(one.path, one.rows, one.bytes // 1024, one.doc) for one in found]
        print_table(("TABLE", "ROWS", "KB", "DESCRIPTION"), rows)
    return EXIT_OK


def _described(table: "TableInfo", column: "Column") -> dict[str, str]:
    return {**column._asdict(), "doc": meaning_of(table.path, column.name)}
