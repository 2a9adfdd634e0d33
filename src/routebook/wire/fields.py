"""Typed reads of extFields with Java's leniency: what does not parse is as if it were missing."""

import re
from typing import Final

from routebook.wire.command import Command

_INT64: Final = 1 << 63
_INT32: Final = 1 << 31
_NUMBER: Final = re.compile(r"[+-]?\d+")  # Java's parseLong takes any Unicode digit, and so does int()


def long_field(command: Command, name: str) -> int | None:
    """Java: Long.parseLong; None where the field is missing or does not parse."""
    return _integer(command.field(name), _INT64)


def int_field(command: Command, name: str) -> int | None:
    """Java: Integer.parseInt; None where the field is missing or does not parse."""
    return _integer(command.field(name), _INT32)


def bool_field(command: Command, name: str) -> bool | None:
    """Java: Boolean.parseBoolean; only "true" in any case is true. None where the field is missing."""
    text = command.field(name)
    return None if text is None else text.lower() == "true"


def _integer(text: str | None, limit: int) -> int | None:
    if text is None or len(text) > 4096 or not _NUMBER.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > 19:
        return None
    value = int(text)
    return value if -limit <= value < limit else None
