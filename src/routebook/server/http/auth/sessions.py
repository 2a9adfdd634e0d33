"""Who is logged in to the console: kept here, by the hash of a secret that only their browser has."""

import secrets
from collections.abc import Iterable
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Final

import msgspec

from routebook.access.identity import Identity
from routebook.server.http.context import HttpContext

COOKIE: Final = "routebook-session"
_SECURE_COOKIE: Final = f"__Host-{COOKIE}"  # browsers take it over TLS alone
_MOST: Final = 1000


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One login. `csrf` is what pages have to show with every write: other sites' pages cannot read it."""

    name: str
    csrf: str
    expires_ms: int


class Sessions:
    """They end with the process, too."""

    def __init__(self, context: HttpContext) -> None:
        self._context = context
        self._sessions: dict[bytes, Session] = {}

    def open(self, identity: Identity) -> tuple[str, Session]:
        """A new login: the cookie's secret, and the session."""
        settings, now_ms = self._context.nameserver.settings, self._context.now_ms()
        for key in [key for key, session in self._sessions.items() if session.expires_ms <= now_ms]:
            del self._sessions[key]
        while len(self._sessions) >= _MOST:
            del self._sessions[next(iter(self._sessions))]
        secret = secrets.token_urlsafe(32)
        session = Session(
            name=identity.name,
            csrf=secrets.token_urlsafe(24),
            expires_ms=now_ms + settings.console.session_s * 1000,
        )
        self._sessions[_key(secret)] = session
        return secret, session

    def find(self, headers: Iterable[tuple[bytes, bytes]]) -> Session | None:
        """The session that a request's cookie names, if it has not run out."""
        for secret in _secrets(headers):
            session = self._sessions.get(_key(secret))
            if session is not None and session.expires_ms > self._context.now_ms():
                return session
        return None

    def identity(self, headers: Iterable[tuple[bytes, bytes]], host: str) -> Identity | None:
        """Who that is by the identities of now: one that was taken away, or comes from elsewhere, is nobody."""
        session = self.find(headers)
        if session is None or self._context.access is None:
            return None
        identity = self._context.access.identities.named(session.name)
        return identity if identity is not None and identity.comes_from(host) else None

    def close(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        for secret in _secrets(headers):
            self._sessions.pop(_key(secret), None)


def cookie(secret: str, *, seconds: int, secure: bool) -> str:
    """A Set-Cookie header; `seconds` 0 takes it away."""
    name, flag = (_SECURE_COOKIE, "; Secure") if secure else (COOKIE, "")
    return f"{name}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{flag}"


def has_cookie(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return bool(_secrets(headers))


def _secrets(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    found = []
    for name, value in headers:
        if name.lower() != b"cookie":
            continue
        try:
            jar = SimpleCookie(value.decode("latin-1"))
        except CookieError:
            continue
        found += [jar[one].value for one in (_SECURE_COOKIE, COOKIE) if one in jar]
    return found


def _key(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
