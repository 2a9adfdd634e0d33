"""Replies as values that compare equal in any order: Java's tables are hash tables."""

import json
import re
from collections.abc import Hashable, Mapping
from typing import Any, Final

from tests.support.remoting_frames import Reply

# In the plain profile, number keys have no quotes. They stay distinct from quoted ones: "0" and bare 0 differ.
_STRING_OR_BARE_KEY: Final = re.compile(r'("(?:[^"\\]|\\.)*")|(?<=[{,])(-?\d+)(?=:)', re.DOTALL)
_EXCEPTION: Final = re.compile(r"^[\w.$]+(Exception|Error)\b")


def parse_body(text: bytes) -> Any:
    """A JSON body of either profile; a bare number key k becomes "bare:k". A duplicate key is an error."""
    marked = _STRING_OR_BARE_KEY.sub(lambda m: m[1] or f'"bare:{m[2]}"', text.decode())
    return json.loads(marked, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise AssertionError(f"a key stands twice among {[key for key, _ in pairs]}")
    return table


def free_of_order(value: Any, *, maps_too: bool = True) -> Hashable:
    """The value with lists as multisets and, unless `maps_too` is false, maps without order."""
    if isinstance(value, Mapping):
        items = [(key, free_of_order(item, maps_too=maps_too)) for key, item in value.items()]
        return ("map", tuple(sorted(items, key=repr) if maps_too else items))
    if isinstance(value, list):
        return ("list", tuple(sorted((free_of_order(item, maps_too=maps_too) for item in value), key=repr)))
    return (type(value).__name__, value)


def quotes_exception(remark: str | None) -> bool:
    """Whether a remark is Java's `class: message, stack frame`; clients do not depend on its text."""
    return remark is not None and _EXCEPTION.match(remark) is not None


def without_order(reply: Reply) -> Hashable:
    """A whole reply without order; a body that is not JSON (319) is compared as text."""
    try:
        body: Any = parse_body(reply.body) if reply.body else None
    except json.JSONDecodeError:
        body = reply.body
    return (free_of_order(reply.header, maps_too=False), free_of_order(body))


def settings_text(body: bytes) -> dict[str, str]:
    """The lines of 319, which are sorted by key, as a dict."""
    lines = body.decode().splitlines()
    table = dict(line.split("=", 1) for line in lines)
    assert list(table) == sorted(table), f"319 is not sorted: {list(table)}"
    assert body.endswith(b"\n"), "319 ends in a newline"
    return table
