"""Validation of names in requests."""

import re
from collections.abc import Collection
from typing import Final

from routebook.errors import BadRequest, TooMuch
from routebook.wire.command import Command

# C0, DEL, C1, lone surrogates and Unicode line breaks: not allowed in a name, a log line or a terminal
_FORBIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


def required_name(command: Command, field: str, *, max_length: int) -> str:
    """The name in a required field."""
    name = command.field(field)
    if not name:
        raise BadRequest(f"{field} is missing: nothing was changed")
    return checked_name(name, field, max_length=max_length)


def optional_name(command: Command, field: str, *, max_length: int) -> str | None:
    """The name in a field that may be missing or empty."""
    name = command.field(field)
    return checked_name(name, field, max_length=max_length) if name else name


def checked_name(name: str, what: str, *, max_length: int) -> str:
    """The name, if it is not too long and has no control characters."""
    check_length(name, what, max_length=max_length)
    if _FORBIDDEN.search(name):
        raise BadRequest(f"{what} {name[:64]!a} contains a control character: nothing was changed")
    return name


def check_length(name: str, what: str, *, max_length: int) -> None:
    """Raise TooMuch if a name is too long. Java: accepts any length."""
    if len(name) > max_length:
        remark = f"{what} {name[:64]!a}… has {len(name)} characters; the limit is {max_length}: nothing was changed"
        raise TooMuch(remark, limit="name_length")


def check_names(names: Collection[str], what: str, *, max_length: int) -> None:
    """The same for many names: one pass over all, and a second one only to find the invalid name."""
    if max(map(len, names), default=0) > max_length or _FORBIDDEN.search("".join(names)):
        for name in names:
            checked_name(name, what, max_length=max_length)
