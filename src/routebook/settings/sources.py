"""Where settings come from: files, environment, options, each as a list of what was given and where."""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

import msgspec

from routebook import properties
from routebook.errors import SettingsError
from routebook.settings.table import (
    BY_ENV,
    JAVA_CLIENT_TLS_KEYS,
    JAVA_ENVIRONMENT,
    JAVA_OPTIONS,
    JAVA_TLS_KEYS,
    LISTEN,
    LISTEN_ENV,
)

_BYTE_ORDER_MARK: Final = "\xef\xbb\xbf"  # as ISO-8859-1 shows it
_PREFIX: Final = "ROUTEBOOK_"
_NOT_SETTINGS: Final = frozenset({"ROUTEBOOK_HOME"})
# Kubernetes tells every container where a service called "routebook" or "routebook-…" is.
_SERVICE_LINK: Final = re.compile(
    r"ROUTEBOOK_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)"
)
_SERVICE_LINK_PORT: Final = re.compile(r"(tcp|udp|sctp)://.*")


class Kind(Enum):
    """What a source is; it decides what becomes of a key that is not in the table."""

    FILE = "file"
    TLS_FILE = "TLS file"
    ENVIRONMENT = "environment"
    OPTION = "option"


class Given(msgspec.Struct, frozen=True):
    """A key and a value, and where they were found, in words that help to find them again."""

    key: str
    value: str
    origin: str


class Source(msgspec.Struct, frozen=True):
    """What one place gives, in its order: the last of two equal keys counts."""

    kind: Kind
    given: tuple[Given, ...]
    warnings: tuple[str, ...] = ()


def from_file(text: str, *, name: str) -> Source:
    """A settings file: Java's keys and Routebook's."""
    return Source(Kind.FILE, _entries(text, name=name))


def from_tls_file(text: str, *, name: str) -> Source:
    """The file that `tls.config.file` names: Java's `tls.` keys. Java ignores the others, and so does this, aloud."""
    given: list[Given] = []
    warnings: list[str] = []
    for entry in _entries(text, name=name):
        if entry.key in JAVA_TLS_KEYS:
            given.append(msgspec.structs.replace(entry, key=JAVA_TLS_KEYS[entry.key]))
        elif entry.key in JAVA_CLIENT_TLS_KEYS:
            warnings.append(f"{entry.origin}: {entry.key} has no effect: outbound connections are plain")
        else:
            warnings.append(f"{entry.origin}: {entry.key} is not one of Java's TLS keys and has no effect")
    return Source(Kind.TLS_FILE, tuple(given), tuple(warnings))


def from_environment(environ: Mapping[str, str]) -> Source:
    """Variables that begin with ROUTEBOOK_. An empty one counts as not set."""
    given: list[Given] = []
    for name, value in environ.items():
        if not value or name in _NOT_SETTINGS:
            continue
        if name in JAVA_ENVIRONMENT:
            # before Routebook's own, which win
            given.insert(0, Given(JAVA_ENVIRONMENT[name], value, f"environment {name}"))
        elif name in BY_ENV:
            given.append(Given(BY_ENV[name].key, value, f"environment {name}"))
        elif name == LISTEN_ENV:
            given.append(Given(LISTEN, value, f"environment {name}"))
        elif name.startswith(_PREFIX) and not _is_service_link(name, value):
            given.append(Given(name, value, "environment"))
    return Source(Kind.ENVIRONMENT, tuple(given))


def from_options(options: Iterable[tuple[str, str, str]]) -> Source:
    """Options of the command line, each as (key, value, how it was written)."""
    return Source(
        Kind.OPTION, tuple(Given(JAVA_OPTIONS.get(key, key), value, origin) for key, value, origin in options)
    )


def from_values(values: Mapping[str, str]) -> Source:
    """Settings that a program gives."""
    return from_options((key, value, "given") for key, value in values.items())


def _entries(text: str, *, name: str) -> tuple[Given, ...]:
    if text.startswith(_BYTE_ORDER_MARK):
        raise SettingsError(f"{name}:1: the file begins with a byte order mark; save it without one, as ISO-8859-1")
    try:
        entries = properties.parse(text)
    except properties.MalformedEscape as error:
        raise SettingsError(f"{name}:{error.line}: \\u is not followed by four hexadecimal digits") from None
    return tuple(Given(entry.key, entry.value, f"{name}:{entry.line}") for entry in entries)


def _is_service_link(name: str, value: str) -> bool:
    if not _SERVICE_LINK.fullmatch(name):
        return False
    return not name.endswith("_PORT") or "SERVICE" in name or bool(_SERVICE_LINK_PORT.fullmatch(value))
