"""Names from the network: what may stand in a table."""

import re
from collections.abc import Collection
from typing import Final

from routebook.errors import BadRequest, TooMuch
from routebook.wire.command import Command

# C0, DEL, C1, lone surrogates, and the Unicode line breaks: none belongs in a name, a log line or a terminal
_FORBIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


def required_name(command: Command, field: str, *, max_length: int) -> str:
    """A field that must be there, not empty, and fit to be a name."""
    name = command.field(field)
    if not name:
        raise BadRequest(f"{field} is missing: nothing was changed")
    return checked_name(name, field, max_length=max_length)


def optional_name(command: Command, field: str, *, max_length: int) -> str | None:
    """A field that may be missing or empty; if it is there, it is fit to be a name."""
    name = command.field(field)
    return checked_name(name, field, max_length=max_length) if name else name


def checked_name(name: str, what: str, *, max_length: int) -> str:
    """The name itself, if it is not too long and has no control characters."""
    check_length(name, what, max_length=max_length)
    if _FORBIDDEN.search(name):
        raise BadRequest(f"{what} {name[:64]!a} holds a control character: nothing was changed")
    return name


def check_length(name: str, what: str, *, max_length: int) -> None:
    """Raise TooMuch where a name is longer than the setting allows. Java takes any length."""
    if len(name) > max_length:
        remark = f"{what} {name[:64]!a}… has {len(name)} characters; the limit is {max_length}: nothing was changed"
        raise TooMuch(remark, limit="name_length")


def check_names(names: Collection[str], what: str, *, max_length: int) -> None:
    """The same for many at once: one look at all of them, and a second only to name the culprit."""
    if max(map(len, names), default=0) > max_length or _FORBIDDEN.search("".join(names)):
        for name in names:
            checked_name(name, what, max_length=max_length)
