"""Output of commands: tables and lines for people, one JSON document with --json, errors on stderr.

rich draws tables on a terminal only. Elsewhere they are plain columns, neither wrapped nor cut, and rich is not
imported, which takes longer than a NameServer takes to respond.
"""

import os
import re
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final

import msgspec

from routebook.cli.framework import flag
from routebook.errors import RequestError

EXIT_OK: Final = 0
EXIT_NO: Final = 1
EXIT_USAGE: Final = 2
EXIT_UNREACHABLE: Final = 3

_MAX_CHARS: Final = 4096
_MAX_PRETTY_ROWS: Final = 500  # rich takes a millisecond for each
_COLUMN_GAP: Final = 2
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d)")

json_option = flag("--json", "as_json", help="Print one JSON document.")


class Colour(StrEnum):
    """Terminal colour codes."""

    RED = "31"
    YELLOW = "33"
    CYAN = "36"


def uses_colour() -> bool:
    """Whether stdout is a terminal and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def printable(text: str) -> str:
    """Escape line ends and terminal escapes, which names from the network may contain."""
    if text.isprintable():
        return text
    from routebook.server.observe.log import escape

    return escape(text, max_chars=_MAX_CHARS)


def print_line(line: str, *, indent: int = 0, colour: Colour | None = None, of: int = 0) -> None:
    """Print one line. On a terminal it wraps between words, and its first `of` characters are coloured."""
    text = printable(line)
    if not sys.stdout.isatty():
        print(" " * indent + text)
        return
    lines = _wrapped(text, indent)
    if colour is not None and uses_colour():
        first = lines[0]
        lines[0] = f"{' ' * indent}\x1b[{colour}m{first[indent : indent + of]}\x1b[0m{first[indent + of :]}"
    print("\n".join(lines))


def _wrapped(text: str, indent: int) -> list[str]:
    from textwrap import wrap

    width = _terminal_width()
    margin = " " * indent
    return wrap(
        text,
        width,
        initial_indent=margin,
        subsequent_indent=margin + "  ",
        break_long_words=False,  # so that a name can be copied from the screen
        break_on_hyphens=False,
    ) or [margin]


def print_error(line: str) -> None:
    """Print one line on stderr."""
    from routebook.server.observe.log import escape

    sys.stdout.flush()
    print(f"routebook: {escape(line, max_chars=_MAX_CHARS)}", file=sys.stderr)


def error_text(error: Exception) -> str:
    """Return an error as one line with the address it came from. Of Java's remarks only the first line matters."""
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else type(error).__name__
    if text.startswith("authorization failed") or getattr(error, "status", None) == HTTPStatus.UNAUTHORIZED:
        text = f"{text.partition(' (')[0]}; set ROCKETMQ_ACCESS_KEY and ROCKETMQ_SECRET_KEY to the keys of an identity"
    if isinstance(error, RequestError) and error.address is not None:
        return f"{error.address}: {text}"
    return text if len(lines) <= 1 else " ".join(line.strip() for line in lines)


def print_json(value: Any) -> None:
    """Print one JSON document, indented on a terminal."""
    text = msgspec.json.encode(value)
    if sys.stdout.isatty():
        text = msgspec.json.format(text, indent=2)
    print(text.decode())


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
    """Print a table; columns of numbers are right-aligned."""
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    right = [bool(cells) and all(_is_number(row[at]) for row in cells) for at in range(len(headings))]
    if sys.stdout.isatty() and len(cells) <= _MAX_PRETTY_ROWS:
        if _least_width(headings, cells) <= _terminal_width():
            _print_pretty(headings, cells, right, title)
        else:
            _print_records(headings, cells, title)
    else:
        _print_plain(headings, cells, right, title)


def _terminal_width() -> int:
    from shutil import get_terminal_size

    return max(get_terminal_size().columns, 20)


def _unsplit(text: str) -> str:
    """Join the parts of times, so that a line break does not split them."""
    return _TIME.sub("\\1\N{NO-BREAK SPACE}\\2", text)


def _column_widths(headings: Sequence[str], cells: list[list[str]]) -> list[int]:
    """The width of the longest word of each column: a word is split only if the terminal is narrower than it."""
    columns, width = zip(headings, *cells, strict=True), _terminal_width()
    longest = [max(len(word) for cell in column for word in _unsplit(cell).split(" ")) for column in columns]
    return [found if found <= width else width // 2 for found in longest]


def _least_width(headings: Sequence[str], cells: list[list[str]]) -> int:
    widths = _column_widths(headings, cells)
    return sum(widths) + _COLUMN_GAP * (len(widths) - 1)


def _print_records(headings: Sequence[str], cells: list[list[str]], title: str | None) -> None:
    """Print each row as lines of heading and value: the terminal is too narrow for the table."""
    if title is not None:
        print(printable(title))
    width = max(map(len, headings))
    for number, row in enumerate(cells):
        if number:
            print()
        for heading, cell in zip(headings, row, strict=True):
            print_line(f"{heading.ljust(width)}  {cell}")


def _is_number(cell: str) -> bool:
    return cell.removesuffix(" %").replace(".", "", 1).isdigit()


def _print_plain(headings: Sequence[str], cells: list[list[str]], right: list[bool], title: str | None) -> None:
    if title is not None:
        print(printable(title))
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    for row in (headings, *cells):
        columns = zip(row, widths, right, strict=True)
        line = "  ".join(cell.rjust(width) if is_right else cell.ljust(width) for cell, width, is_right in columns)
        print(line.rstrip())


def _print_pretty(headings: Sequence[str], cells: list[list[str]], right: list[bool], title: str | None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    widths = _column_widths(headings, cells)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for at, heading in enumerate(headings):
        table.add_column(
            heading,
            justify="right" if right[at] else "left",
            style="cyan" if at == 0 else None,
            overflow="fold",
            min_width=widths[at],
        )
    for row in cells:
        table.add_row(*(Text(_unsplit(cell)) for cell in row))
    console = Console(highlight=False, markup=False)
    if title is not None:
        console.print(printable(title), style="bold")
    console.print(table)
