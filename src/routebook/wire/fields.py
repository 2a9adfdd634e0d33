"""Typed access to extFields, as lenient as Java: an invalid value counts as missing."""

import re
from typing import Final

from routebook.wire.command import Command

_INT64: Final = 1 << 63
_INT32: Final = 1 << 31
_NUMBER: Final = re.compile(r"[+-]?\d+")  # Java: parseLong accepts any Unicode digit, as int() does


def long_field(command: Command, name: str) -> int | None:
    """Java: Long.parseLong; None if the field is missing or invalid."""
    return _integer(command.field(name), _INT64)


def int_field(command: Command, name: str) -> int | None:
    """Java: Integer.parseInt; None if the field is missing or invalid."""
    return _integer(command.field(name), _INT32)


def bool_field(command: Command, name: str) -> bool | None:
    """Java: Boolean.parseBoolean; only "true" in any case is true. None if the field is missing."""
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
