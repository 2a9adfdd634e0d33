"""Parses the column lists of table declarations.

Each column has one line with its name, its type, a sentence and an example:

    planned boolean -- True if the broker unregistered before it left. | true

A line that begins with `--` continues the line before it. A column without a sentence has the meaning that
routebook.lake.tables.common gives its name. Without sentences, a line can declare several columns, separated by commas.
"""

from collections.abc import Iterator
from typing import NamedTuple

from routebook.lake.tables.common import COMMON

_COMMENT = "--"
_EXAMPLE = " | "


class ColumnDeclaration(NamedTuple):
    """One declared column; `doc` and `example` are empty if the declaration lacks them."""

    name: str
    type: str
    doc: str
    example: str


def declared_columns(text: str) -> list[ColumnDeclaration]:
    """The columns with their meaning, in order."""
    return [column for line in _lines(text) for column in _columns(line)]


def columns_of(text: str) -> list[tuple[str, str]]:
    """The name and type of each column, in order."""
    return [(column.name, column.type) for column in declared_columns(text)]


def split(text: str) -> list[str]:
    """Split at the commas outside angle brackets."""
    parts: list[str] = []
    depth = begin = 0
    for at, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return [part for part in (*parts, text[begin:].strip()) if part]


def _lines(text: str) -> Iterator[str]:
    """The lines, each with its continuation lines."""
    current = ""
    for line in map(str.strip, text.splitlines()):
        if not line.startswith(_COMMENT):
            yield current
            current = line
        elif _COMMENT in current:
            current += line.removeprefix(_COMMENT)
        else:
            current += f" {line}"
    yield current


def _columns(line: str) -> Iterator[ColumnDeclaration]:
    columns, _, comment = line.partition(_COMMENT)
    doc, _, example = comment.partition(_EXAMPLE)
    for column in split(columns):
        name, _, kind = column.partition(" ")
        name = name.strip("`")
        common = ("", "") if comment else COMMON.get(name, ("", ""))
        yield ColumnDeclaration(name, " ".join(kind.split()), doc.strip() or common[0], example.strip() or common[1])
