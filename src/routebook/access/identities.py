"""All identities of a server, as its file lists them, and what proves to be one of them."""

import hmac
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from routebook.access.entries import Entry, read_entries
from routebook.access.identity import Identity
from routebook.access.signature import sign

LEAST_TOKEN: Final = 32  # a secret that is kept as a plain hash must be too long to be guessed


class Identities:
    """One immutable set; a changed file makes another. Secrets stay inside, and no text of this shows them."""

    __slots__ = ("_by_access_key", "_by_certificate", "_by_name", "anonymous")

    def __init__(self, entries: Iterable[Entry], *, anonymous: Identity | None = None) -> None:
        self.anonymous = anonymous
        self._by_access_key = {entry.access_key: entry for entry in entries}
        self._by_name = {entry.identity.name: entry.identity for entry in entries}
        self._by_certificate = {name: entry.identity for entry in entries for name in entry.certificates}

    @classmethod
    def parse(cls, text: str, *, name: str, environ: Mapping[str, str]) -> "Identities":
        """The file's text. `name` is the file's, for what is said about it. Raises AccessFileError."""
        entries, anonymous = read_entries(text, name=name, environ=environ)
        return cls(entries, anonymous=anonymous)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"Identities({', '.join(self._by_name)})"

    def named(self, name: str) -> Identity | None:
        return self._by_name.get(name)

    def proves(self, access_key: str, secret: str) -> Identity | None:
        """Who knows this secret, for HTTP. As quick for a wrong one as for the right one."""
        entry = self._by_access_key.get(access_key, _NOBODY)
        given = sha256(secret.encode("utf-8", "surrogatepass")).digest()
        right = hmac.compare_digest(given, entry.digest)
        if entry.secret is None and len(secret) < LEAST_TOKEN:
            right = False
        return entry.identity if right and entry is not _NOBODY else None

    def signed(self, access_key: str, content: bytes, signature: str) -> Identity | None:
        """Who made this signature over this content."""
        entry = self._by_access_key.get(access_key)
        if entry is None or entry.secret is None:  # access keys are no secret: they go over the wire as they are
            return None
        expected = sign(content, entry.secret)
        right = hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogatepass"))
        return entry.identity if right else None

    def knows(self, access_key: str) -> bool:
        """Whether there is such an access key; to tell operators, never callers."""
        return access_key in self._by_access_key

    def can_sign(self, access_key: str) -> bool:
        """Whether its secret is there to check a signature with."""
        entry = self._by_access_key.get(access_key)
        return entry is not None and entry.secret is not None

    def certified(self, names: Iterable[str]) -> Identity | None:
        """Whom a verified certificate with these names stands for; nobody if it stands for two."""
        found = {identity.name: identity for name in names if (identity := self._by_certificate.get(name)) is not None}
        return next(iter(found.values())) if len(found) == 1 else None


# Compared with when nobody has the access key, so that an unknown one takes as long as a known one.
_NOBODY: Final = Entry(
    identity=Identity(name="", access=frozenset()), access_key="", secret="", digest=bytes(32), certificates=()
)
