"""Console sessions in memory, keyed by the hash of a secret that only the browser has."""

import secrets
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import msgspec

from routebook.access.identity import Identity
from routebook.server.http.context import HttpContext

COOKIE: Final = "routebook-session"
_SECURE_COOKIE: Final = f"__Host-{COOKIE}"  # browsers accept it over TLS only
_MAX_SESSIONS: Final = 1000
MAX_COOKIE_BYTES: Final = 8 << 10


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One login. Pages send `csrf` with every write; pages of other sites cannot read it."""

    name: str
    credentials: int  # of the identity; a changed secret ends the session
    csrf: str
    expires_ms: int


class Sessions:
    """All sessions of this process; a restart ends them."""

    def __init__(self, context: HttpContext) -> None:
        self._context = context
        self._sessions: dict[bytes, Session] = {}

    def open(self, identity: Identity) -> tuple[str, Session]:
        """Create a session; returns the secret for the cookie, and the session."""
        settings, now_ms = self._context.nameserver.settings, self._context.now_ms()
        for key in [key for key, session in self._sessions.items() if session.expires_ms <= now_ms]:
            del self._sessions[key]
        while len(self._sessions) >= _MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        secret = secrets.token_urlsafe(32)
        session = Session(
            name=identity.name,
            credentials=identity.credentials,
            csrf=secrets.token_urlsafe(24),
            expires_ms=now_ms + settings.console.session_s * 1000,
        )
        self._sessions[_key(secret)] = session
        return secret, session

    def find(self, headers: Iterable[tuple[bytes, bytes]]) -> Session | None:
        """The session of a request's cookie, if it is neither expired nor revoked."""
        for secret in session_secrets(headers):
            session = self._sessions.get(_key(secret))
            if session is not None and session.expires_ms > self._context.now_ms() and self._identity(session):
                return session
        return None

    def identity(self, headers: Iterable[tuple[bytes, bytes]], host: str) -> Identity | None:
        """The identity of a request's session, if it may connect from this host."""
        session = self.find(headers)
        identity = None if session is None else self._identity(session)
        return identity if identity is not None and identity.allows_host(host) else None

    def _identity(self, session: Session) -> Identity | None:
        """The identity, with its present rights; None if it was removed or has other credentials since the login."""
        access = self._context.access
        identity = None if access is None else access.identities.by_name(session.name)
        return identity if identity is not None and identity.credentials == session.credentials else None

    def close(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        for secret in session_secrets(headers):
            self._sessions.pop(_key(secret), None)


def cookie(secret: str, *, max_age_s: int, secure: bool) -> str:
    """A Set-Cookie header; `max_age_s` 0 deletes the cookie."""
    name, flag = (_SECURE_COOKIE, "; Secure") if secure else (COOKIE, "")
    return f"{name}={secret}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{flag}"


def session_secrets(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    """The secrets in the session cookies of a request, in linear time; `http.cookies` takes quadratic time."""
    found = []
    for name, value in headers:
        if name.lower() != b"cookie":
            continue
        if len(value) > MAX_COOKIE_BYTES:
            continue
        pairs = (pair.partition("=") for pair in value.decode("latin-1").split(";"))
        jar = {name.strip(): text.strip().strip('"') for name, _, text in pairs}
        found += [jar[one] for one in (_SECURE_COOKIE, COOKIE) if one in jar]
    return found


def _key(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
