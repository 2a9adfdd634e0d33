"""Strict parser of the identities file: anything unknown is an error, so that a typing error grants no access."""

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from hashlib import sha256
from ipaddress import ip_network
from typing import Any, Final

import msgspec

from routebook.access.classes import Access, expanded
from routebook.access.identity import Identity, Network
from routebook.errors import AccessFileError

_ANONYMOUS: Final = "anonymous"
_TOP: Final = (_ANONYMOUS, "identity")
_LISTS: Final = ("access", "clusters", "brokers", "topics", "networks", "certificates")
_FIELDS: Final = ("name", "access_key", "secret", *_LISTS)
_ENV: Final = "env:"
_HASHED: Final = "sha256:"
_MIN_SECRET_LENGTH: Final = 8


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An identity and its credentials. `secret` is None if only its digest is known, or if it has none."""

    identity: Identity
    access_key: str
    secret: str | None
    digest: bytes
    certificates: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Entry({self.identity.name})"


def read_entries(text: str, *, name: str, environ: Mapping[str, str]) -> tuple[tuple[Entry, ...], Identity | None]:
    """All identities, and the one for anonymous callers. Raises AccessFileError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise AccessFileError(f"{name}: not TOML: {error}") from None
    _check_known(document, _TOP, name)
    tables = document.get("identity", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise AccessFileError(f"{name}: identities are written as [[identity]] tables")
    if not tables:
        raise AccessFileError(
            f"{name}: no [[identity]]: add one, or disable authentication (empty routebook.auth.file)"
        )
    entries = tuple(_Reader(table, number, name, environ).entry() for number, table in enumerate(tables, 1))
    _check_unique(entries, name)
    return entries, _anonymous(document.get(_ANONYMOUS, []), name)


class _Reader:
    """One [[identity]] table."""

    def __init__(self, table: dict[str, Any], number: int, file: str, environ: Mapping[str, str]) -> None:
        given = table.get("name")
        called = f"identity {given!a}" if isinstance(given, str) and given else f"identity number {number}"
        self._where = f"{file}: {called}"
        self._table = table
        self._environ = environ
        _check_known(table, _FIELDS, self._where)

    def entry(self) -> Entry:
        name = self._text("name")
        if name is None or name == _ANONYMOUS or not name.isprintable():
            raise AccessFileError(f'{self._where}: needs a unique, printable name other than "{_ANONYMOUS}"')
        secret, digest = self._secret()
        certificates = self._list("certificates") or ()
        if digest is None and not certificates:
            raise AccessFileError(f"{self._where}: no credentials: add a secret or certificates")
        access_key, digest = self._text("access_key") or name, digest or bytes(32)
        identity = Identity(
            name=name,
            access=expanded(self._classes()),
            clusters=self._names("clusters"),
            brokers=self._names("brokers"),
            topics=None if (topics := self._names("topics")) is None else tuple(sorted(topics)),
            networks=tuple(self._network(text) for text in self._list("networks") or ()),
            credentials=hash((access_key, digest, certificates)),
        )
        return Entry(
            identity=identity,
            access_key=access_key,
            secret=secret,
            digest=digest,
            certificates=certificates,
        )

    def _secret(self) -> tuple[str | None, bytes | None]:
        """The secret, if it is known, and its digest; neither is ever part of a message."""
        given = self._text("secret")
        if given is None:
            return None, None
        if given.startswith(_HASHED):
            try:
                digest = bytes.fromhex(given.removeprefix(_HASHED))
            except ValueError:
                digest = b""
            if len(digest) != 32:
                raise AccessFileError(f"{self._where}: secret: 64 hexadecimal digits must follow sha256:")
            return None, digest
        if given.startswith(_ENV):
            variable = given.removeprefix(_ENV)
            given = self._environ.get(variable, "")
            if not given:
                raise AccessFileError(f"{self._where}: secret: the environment variable {variable} is missing or empty")
        if len(given) < _MIN_SECRET_LENGTH:
            raise AccessFileError(f"{self._where}: secret: at least {_MIN_SECRET_LENGTH} characters are needed")
        return given, sha256(given.encode()).digest()

    def _classes(self) -> list[Access]:
        words = self._list("access")
        if not words:
            raise AccessFileError(f"{self._where}: access: name at least one of {_words(Access)}")
        return [_class(word, f"{self._where}: access") for word in words]

    def _names(self, field: str) -> frozenset[str] | None:
        names = self._list(field)
        if names is not None and not names:
            raise AccessFileError(f"{self._where}: {field}: an empty list allows nothing; remove the line to allow all")
        return None if names is None else frozenset(names)

    def _network(self, text: str) -> Network:
        try:
            return ip_network(text)
        except ValueError as error:
            raise AccessFileError(f"{self._where}: networks: {error}; write 10.1.0.0/16 or 10.1.2.3") from None

    def _text(self, field: str) -> str | None:
        value = self._table.get(field)
        if value is not None and (not isinstance(value, str) or not value):
            raise AccessFileError(f"{self._where}: {field} must be a quoted text that is not empty")
        return value

    def _list(self, field: str) -> tuple[str, ...] | None:
        value = self._table.get(field)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise AccessFileError(f'{self._where}: {field} must be a list of texts, as in {field} = ["…"]')
        return tuple(value)


def _anonymous(words: object, file: str) -> Identity | None:
    where = f"{file}: {_ANONYMOUS}"
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise AccessFileError(f'{where} must be a list, as in {_ANONYMOUS} = ["route_read"]')
    classes = [_class(word, where) for word in words]
    if any(access is not Access.ROUTE_READ for access in classes):
        raise AccessFileError(f"{where}: anonymous callers can have route_read only")
    return Identity(name=_ANONYMOUS, access=expanded(classes)) if classes else None


def _class(word: str, where: str) -> Access:
    try:
        return Access(word)
    except ValueError:
        raise AccessFileError(f"{where}: {word!a} is not one of {_words(Access)}") from None


def _check_known(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else f"; known keys: {', '.join(known)}"
            raise AccessFileError(f"{where}: {key!a} is not a known key{hint}")


def _check_unique(entries: tuple[Entry, ...], file: str) -> None:
    for what, values in (
        ("name", [entry.identity.name for entry in entries]),
        ("access key", [entry.access_key for entry in entries]),
        ("certificate", [name for entry in entries for name in entry.certificates]),
    ):
        twice = [value for value in values if values.count(value) > 1]
        if twice:
            raise AccessFileError(f"{file}: two identities have the {what} {twice[0]!a}")


def _words(classes: Iterable[Access]) -> str:
    return ", ".join(classes)
