"""Names from the network: what may stand in a table."""

import re
from collections.abc import Iterable
from typing import Final

from routebook.errors import BadRequest
from routebook.wire.command import Command

# C0, DEL, C1, lone surrogates, and the Unicode line breaks: none belongs in a name, a log line or a terminal
_FORBIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


def required_name(command: Command, field: str) -> str:
    """A field that must be there, not empty, and fit to be a name."""
    name = command.field(field)
    if not name:
        raise BadRequest(f"{field} is missing: nothing was changed")
    return checked_name(name, field)


def optional_name(command: Command, field: str) -> str | None:
    """A field that may be missing or empty; if it is there, it is fit to be a name."""
    name = command.field(field)
    return checked_name(name, field) if name else name


def checked_name(name: str, what: str) -> str:
    """The name itself, if it has no control characters."""
    if _FORBIDDEN.search(name):
        raise BadRequest(f"{what} {name[:64]!a} holds a control character: nothing was changed")
    return name


def check_names(names: Iterable[str], what: str) -> None:
    """The same for many at once: one search over all of them, and a second only to name the culprit."""
    if _FORBIDDEN.search("".join(names)):
        for name in names:
            checked_name(name, what)
