"""A setting: its key, type, default and when a change takes effect."""

import re
from enum import Enum
from typing import Final

import msgspec

from routebook.settings.types import Type, Value

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_CAMEL_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Group(Enum):
    """The origin of a setting. 319 shows the first two groups, `mqnamesrv -p` prints the first three."""

    NAMESRV = "NamesrvConfig"
    SERVER = "NettyServerConfig"
    CLIENT = "NettyClientConfig"
    ROUTEBOOK = "Routebook"


class How(Enum):
    """When a value takes effect."""

    RUNTIME = "at run time, also by 318"
    RESTART = "at start"
    FIXED = "at start; cannot be changed by 318"
    UNUSED = "never: accepted and shown for compatibility with Java's files"


class Setting(msgspec.Struct, frozen=True):
    """One row of the table."""

    group: Group
    key: str
    type: Type
    default: Value
    how: How
    note: str
    is_secret: bool = False

    @property
    def env(self) -> str:
        """The environment variable that sets it: routebook.tls.keyPath is ROUTEBOOK_TLS_KEY_PATH."""
        words = _CAMEL_HUMP.sub("_", self.key.removeprefix("routebook.")).replace(".", "_")
        return f"ROUTEBOOK_{words.upper()}"

    def parse(self, text: str) -> Value:
        """The value of `text` without surrounding blanks; a ValueError describes what is accepted."""
        stripped = text.strip()
        if _CONTROL.search(stripped):  # 319 prints one setting per line
            raise ValueError(f"{self.type.expects}, without control characters")
        return self.type.parse(stripped)


def show(value: Value) -> str:
    """A value as Java prints it."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def rows(group: Group, *given: tuple[str, Type, Value, How, str]) -> tuple[Setting, ...]:
    """Settings of one group."""
    return tuple(Setting(group, *row) for row in given)
