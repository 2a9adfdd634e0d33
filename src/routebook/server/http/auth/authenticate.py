"""Who asks over HTTP, and whether they may: the same identities as on the NameServer port.

`Authorization: Basic` or `Bearer`, with ACCESS-KEY:SECRET either way; or what `context.sessions` makes of a cookie.
"""

import binascii
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from routebook.access.classes import Access
from routebook.access.identity import Identity
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Problem
from routebook.server.http.transport.asgi import Scope

Headers: TypeAlias = Sequence[tuple[bytes, bytes]]

# The first that fits decides; what fits none is for readers if it is read, and for administrators if it is not.
_OPEN: Final = ("/", "/healthz", "/readyz", "/v1/session")
# the console: files that are the same for everybody and hold no data
_PAGES: Final = ("/assets", "/brokers", "/topics", "/compare", "/events", "/reports", "/admin")
_ROUTES: Final = (
    *("/metrics", "/schema", "/v1/server", "/v1/health", "/v1/clusters", "/v1/brokers", "/v1/routes", "/v1/topics"),
    *("/v1/peers", "/v1/digest", "/v1/overview", "/v1/strip", "/v1/search", "/v1/live"),
)
_ASKED_BY_POST: Final = ("/v1/compare",)
_TELL_WHO_ASKED: Final = ("/history", "/sessions", "/demand")

_GUESSES_A_MINUTE: Final = 30
_MOST_GUESSERS: Final = 1024
_MINUTE_S: Final = 60.0
_LOGIN_HINT: Final = "send an access key and its secret: Authorization: Basic or Bearer ACCESS-KEY:SECRET"
_NO_ANSWER: Final = (401, Problem("this server wants to know who asks", _LOGIN_HINT, "login-required"))
_WRONG: Final = (401, Problem("no such access key, or not its secret", _LOGIN_HINT, "bad-credentials"))


def needed(method: str, path: str) -> Access | None:
    """What it takes; None: nothing. A path that is not known takes more rather than less."""
    reads = method in ("GET", "HEAD")
    if path in _OPEN or (reads and any(_is_below(path, page) for page in _PAGES)):
        return None
    if not reads:
        return Access.ADMIN_READ if path in _ASKED_BY_POST else Access.ADMIN_WRITE
    if path.endswith(_TELL_WHO_ASKED):  # and from where
        return Access.ADMIN_READ
    return Access.ROUTE_READ if any(_is_below(path, route) for route in _ROUTES) else Access.ADMIN_READ


def credentials(headers: Headers) -> tuple[str, str] | None:
    """Access key and secret of an Authorization header; None without one. Raises ValueError if it cannot be read."""
    given = [value for name, value in headers if name == b"authorization"]
    if not given:
        return None
    scheme, _, rest = given[0].partition(b" ")
    if len(given) > 1 or scheme.lower() not in (b"basic", b"bearer"):
        raise ValueError("neither Basic nor Bearer")
    try:
        text = (b64decode(rest.strip(), validate=True) if scheme.lower() == b"basic" else rest.strip()).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("not as it should be written") from None
    access_key, colon, secret = text.partition(":")
    if not colon:
        raise ValueError("not ACCESS-KEY:SECRET")
    return access_key, secret


class HttpAccess:
    """Asked about every request by the guard. With authentication off it lets all pass."""

    def __init__(self, context: HttpContext, time: Callable[[], float]) -> None:
        self._context = context
        self._time = time
        self._guesses: OrderedDict[str, int] = OrderedDict()  # wrong ones of this minute, by address
        self._minute_began = time()

    def refusal(self, scope: Scope) -> tuple[int, Problem] | None:
        """What to answer; None: it may pass, and `scope["state"]["identity"]` says who it is."""
        method, path, host = scope.get("method", "GET"), scope["raw_path"].decode("ascii"), _host(scope)
        access = needed(method, path)
        identity, wrong = self._identify(scope["headers"], host)
        scope.setdefault("state", {})["identity"] = identity
        if access is None or self._context.access is None:
            return None
        if wrong is None and identity is None:
            wrong = _NO_ANSWER
        if wrong is not None:
            self._denied(wrong[1].error, scope, None)
            return wrong
        if identity is not None and not identity.may(access):
            if identity == self._context.access.identities.anonymous:
                self._denied(_NO_ANSWER[1].error, scope, None)
                return _NO_ANSWER
            why = f"{identity.name} has no {access}"
            self._denied(why, scope, identity.name)
            return 403, Problem(why, "ask with another identity; see docs/security.md", "not-allowed")
        return None

    def _identify(self, headers: Headers, host: str) -> tuple[Identity | None, tuple[int, Problem] | None]:
        file = self._context.access
        if file is None:
            return None, None
        try:
            given = credentials(headers)
        except ValueError as error:
            return None, (401, Problem(f"the Authorization header is {error}", _LOGIN_HINT, "bad-credentials"))
        if given is not None:
            if self._guessed(host) >= _GUESSES_A_MINUTE:
                return None, (429, Problem("too many wrong secrets from this address", "wait a minute", "too-many"))
            found = file.identities.proves(*given)
            if found is None:
                self._guess(host)
                return None, _WRONG
        else:
            sessions = self._context.sessions
            found = sessions(headers, host) if sessions is not None else None
            found = found or file.identities.anonymous
        if found is not None and not found.comes_from(host):
            why = f"{found.name} may not come from this address"
            return None, (403, Problem(why, "see networks in docs/security.md", "not-allowed"))
        return found, None

    def _denied(self, why: str, scope: Scope, who: str | None) -> None:
        if self._context.denials is not None:
            client = scope.get("client") or ("unknown", 0)
            peer = f"[{client[0]}]:{client[1]}" if ":" in client[0] else f"{client[0]}:{client[1]}"
            self._context.denials.denied(code=0, why=f"http: {why}", peer=peer, who=who)

    def _guessed(self, host: str) -> int:
        now = self._time()
        if now - self._minute_began >= _MINUTE_S:
            self._guesses.clear()
            self._minute_began = now
        return self._guesses.get(host, 0)

    def _guess(self, host: str) -> None:
        self._guesses[host] = self._guesses.pop(host, 0) + 1
        while len(self._guesses) > _MOST_GUESSERS:
            self._guesses.popitem(last=False)


def challenge(scope: Scope, status: int) -> list[tuple[bytes, bytes]]:
    """What tells a program how to prove itself; not a browser, which would ask for a password in a window."""
    from_browser = any(name in (b"sec-fetch-mode", b"cookie") for name, _ in scope["headers"])
    return [(b"www-authenticate", b'Basic realm="routebook"')] if status == 401 and not from_browser else []


def _is_below(path: str, route: str) -> bool:
    return path == route or path.startswith(f"{route}/")


def _host(scope: Scope) -> str:
    client = scope.get("client")
    return "unknown" if client is None else str(client[0])
