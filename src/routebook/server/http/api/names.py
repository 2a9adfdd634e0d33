"""Names in paths: they may hold anything, so they stay percent-encoded until a handler takes them apart. Pure."""

from typing import Final
from urllib.parse import unquote, unquote_to_bytes

from routebook.server.observe.log import escape

_SHOWN_CHARS: Final = 200


def from_path(encoded: str) -> str:
    """The name that one part of a path says; also one with half a surrogate pair, which Java lets through."""
    try:
        return unquote_to_bytes(encoded).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return unquote(encoded)


def shown(path: str) -> str:
    """A path for people: printable, and not too long."""
    return escape(unquote(path), max_chars=_SHOWN_CHARS)
