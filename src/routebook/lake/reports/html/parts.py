"""Pieces of the page: sections, tables, legends, tiles. What others named is escaped here."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from typing import NamedTuple
from zoneinfo import ZoneInfo


class Tile(NamedTuple):
    """A figure at the top of the page."""

    figure: str
    about: str
    warn: bool = False


class Cell(NamedTuple):
    """What stands in a table, and how: n for numbers, t for times, flag for what is wrong."""

    text: str
    style: str = ""


def section(title: str, note: str, *content: str) -> str:
    return f'<section><h2>{escape(title)}</h2><p class="note">{escape(note)}</p>{"".join(content)}</section>'


def nothing(said: str) -> str:
    """In the place of a chart that would be empty."""
    return f'<p class="nothing">{escape(said)}</p>'


def chart(drawn: str) -> str:
    """It scrolls by itself where the page is narrow."""
    return f'<div class="wide">{drawn}</div>'


def tiles(those: Iterable[Tile]) -> str:
    made = (
        f"<div{_class('tile warn' if one.warn else 'tile')}><b>{escape(one.figure)}</b>"
        f"<span>{escape(one.about)}</span></div>"
        for one in those
    )
    return f'<div class="tiles">{"".join(made)}</div>'


def legend(items: Iterable[tuple[str, str]]) -> str:
    """Names of colours, each with what it means."""
    made = (f'<li><i style="--of: var(--{name})"></i>{escape(said)}</li>' for name, said in items)
    return f'<ul class="legend">{"".join(made)}</ul>'


def table(headings: Sequence[Cell], rows: Iterable[Sequence[Cell]]) -> str:
    head = "".join(f"<th{_class(one.style)}>{escape(one.text)}</th>" for one in headings)
    body = "".join(
        "<tr>" + "".join(f"<td{_class(one.style)}>{escape(one.text)}</td>" for one in row) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def more(said: str, content: str) -> str:
    """What is there for those who want it."""
    return f"<details><summary>{escape(said)}</summary>{content}</details>"


def when(at: str | None, zone: ZoneInfo) -> str:
    """A time of the report's zone."""
    return "" if at is None else f"{datetime.fromisoformat(at).astimezone(zone):%Y-%m-%d %H:%M:%S}"


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""
