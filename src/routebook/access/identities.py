"""The identities of a server, and authentication by secret, signature or certificate."""

import hmac
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from routebook.access.entries import Entry, read_entries
from routebook.access.identity import Identity
from routebook.access.signature import sign

MIN_TOKEN_LENGTH: Final = 32  # of a secret that is stored as an unsalted hash


class Identities:
    """An immutable set; a changed file creates a new one. Secrets are never part of its text."""

    __slots__ = ("_by_access_key", "_by_certificate", "_by_name", "anonymous")

    def __init__(self, entries: Iterable[Entry], *, anonymous: Identity | None = None) -> None:
        self.anonymous = anonymous
        self._by_access_key = {entry.access_key: entry for entry in entries}
        self._by_name = {entry.identity.name: entry.identity for entry in entries}
        self._by_certificate = {name: entry.identity for entry in entries for name in entry.certificates}

    @classmethod
    def parse(cls, text: str, *, name: str, environ: Mapping[str, str]) -> "Identities":
        """Parse the text of an identities file; `name` is used in messages. Raises AccessFileError."""
        entries, anonymous = read_entries(text, name=name, environ=environ)
        return cls(entries, anonymous=anonymous)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"Identities({', '.join(self._by_name)})"

    def by_name(self, name: str) -> Identity | None:
        return self._by_name.get(name)

    def is_in_force(self, identity: Identity) -> bool:
        """Whether this identity still exists with the same rights and the same credentials."""
        return identity in (self._by_name.get(identity.name), self.anonymous)

    def authenticate(self, access_key: str, secret: str) -> Identity | None:
        """The identity with this secret, for HTTP. Takes the same time for wrong secrets and unknown keys."""
        entry = self._by_access_key.get(access_key, _UNKNOWN)
        given = sha256(secret.encode("utf-8", "surrogatepass")).digest()
        matches = hmac.compare_digest(given, entry.digest)
        if entry.secret is None and len(secret) < MIN_TOKEN_LENGTH:
            matches = False
        return entry.identity if matches and entry is not _UNKNOWN else None

    def verify(self, access_key: str, content: bytes, signature: str, *, digest: str = "sha1") -> Identity | None:
        """The identity that signed this content."""
        entry = self._by_access_key.get(access_key)
        if entry is None or entry.secret is None:  # no constant time needed: access keys are public
            return None
        expected = sign(content, entry.secret, digest=digest)
        matches = hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogatepass"))
        return entry.identity if matches else None

    def has_access_key(self, access_key: str) -> bool:
        """Whether the access key exists; for logs, never for replies."""
        return access_key in self._by_access_key

    def can_sign(self, access_key: str) -> bool:
        """Whether the secret is known, so that signatures can be verified."""
        entry = self._by_access_key.get(access_key)
        return entry is not None and entry.secret is not None

    def by_certificate(self, names: Iterable[str]) -> Identity | None:
        """The identity of a verified certificate with these names; None if several identities match."""
        found = {identity.name: identity for name in names if (identity := self._by_certificate.get(name)) is not None}
        return next(iter(found.values())) if len(found) == 1 else None


# Compared with if the access key is unknown, so that this takes as long as for a known one.
_UNKNOWN: Final = Entry(
    identity=Identity(name="", access=frozenset()), access_key="", secret="", digest=bytes(32), certificates=()
)
