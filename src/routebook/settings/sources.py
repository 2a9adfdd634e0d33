"""Sources of settings: files, environment, options; each is a list of entries with their origin."""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

import msgspec

from routebook import properties
from routebook.errors import SettingsError
from routebook.settings.java_settings import JAVA_CLIENT_TLS_KEYS, JAVA_ENVIRONMENT, JAVA_OPTIONS, JAVA_TLS_KEYS
from routebook.settings.table import BY_ENV, LISTEN, LISTEN_ENV

_BYTE_ORDER_MARK: Final = "\xef\xbb\xbf"  # as ISO-8859-1 shows it
_PREFIX: Final = "ROUTEBOOK_"
_NOT_SETTINGS: Final = frozenset({"ROUTEBOOK_HOME"})
# Kubernetes sets these variables in each container for a service called "routebook" or "routebook-…".
_SERVICE_LINK: Final = re.compile(
    r"ROUTEBOOK_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)"
)
_SERVICE_LINK_PORT: Final = re.compile(r"(tcp|udp|sctp)://.*")


class Kind(Enum):
    """The kind of a source; it decides how unknown keys are handled."""

    FILE = "file"
    TLS_FILE = "TLS file"
    ENVIRONMENT = "environment"
    OPTION = "option"


class Given(msgspec.Struct, frozen=True):
    """A key, a value and their origin, such as a file and a line."""

    key: str
    value: str
    origin: str


class Source(msgspec.Struct, frozen=True):
    """The entries of one source, in order; of two equal keys the last counts."""

    kind: Kind
    given: tuple[Given, ...]
    warnings: tuple[str, ...] = ()


def from_file(text: str, *, name: str) -> Source:
    """A settings file: Java's keys and Routebook's."""
    return Source(Kind.FILE, _entries(text, name=name))


def from_tls_file(text: str, *, name: str) -> Source:
    """The file named by `tls.config.file`, with Java's `tls.` keys. Other keys are ignored, with a warning."""
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
    """Variables that start with ROUTEBOOK_. An empty one counts as not set."""
    given: list[Given] = []
    for name, value in environ.items():
        if not value or name in _NOT_SETTINGS:
            continue
        if name in JAVA_ENVIRONMENT:
            # before Routebook's own, which override it
            given.insert(0, Given(JAVA_ENVIRONMENT[name], value, f"environment {name}"))
        elif name in BY_ENV:
            given.append(Given(BY_ENV[name].key, value, f"environment {name}"))
        elif name == LISTEN_ENV:
            given.append(Given(LISTEN, value, f"environment {name}"))
        elif name.startswith(_PREFIX) and not _is_service_link(name, value):
            given.append(Given(name, value, "environment"))
    return Source(Kind.ENVIRONMENT, tuple(given))


def from_options(options: Iterable[tuple[str, str, str]]) -> Source:
    """Command-line options, each as (key, value, spelling)."""
    return Source(
        Kind.OPTION, tuple(Given(JAVA_OPTIONS.get(key, key), value, origin) for key, value, origin in options)
    )


def from_values(values: Mapping[str, str]) -> Source:
    """Settings given by a program."""
    return from_options((key, value, "given") for key, value in values.items())


def _entries(text: str, *, name: str) -> tuple[Given, ...]:
    if text.startswith(_BYTE_ORDER_MARK):
        raise SettingsError(f"{name}:1: the file starts with a byte order mark; save it without one, as ISO-8859-1")
    try:
        entries = properties.parse(text)
    except properties.MalformedEscape as error:
        raise SettingsError(f"{name}:{error.line}: \\u is not followed by four hexadecimal digits") from None
    return tuple(Given(entry.key, entry.value, f"{name}:{entry.line}") for entry in entries)


def _is_service_link(name: str, value: str) -> bool:
    if not _SERVICE_LINK.fullmatch(name):
        return False
    return not name.endswith("_PORT") or "SERVICE" in name or bool(_SERVICE_LINK_PORT.fullmatch(value))
