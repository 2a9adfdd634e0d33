"""HTTP authentication and authorization, with the identities of the NameServer port.

Clients send `Authorization: Basic` or `Bearer`, both with ACCESS-KEY:SECRET, or the console's session cookie.
"""

import binascii
from base64 import b64decode
from typing import Any, Final, TypeAlias

import msgspec
from litestar import Request

from routebook.access.classes import Access
from routebook.access.identity import Identity
from routebook.server.http.auth.login_throttle import LoginThrottle
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import ApiError, Problem
from routebook.server.http.transport.asgi import Headers, Scope, peer_of
from routebook.server.http.transport.hosts import is_same_origin
from routebook.server.http.transport.static_files import is_page_request

Denial: TypeAlias = tuple[int, Problem]

# The first match decides. Other paths need ADMIN_READ to read and ADMIN_WRITE to write.
_OPEN: Final = ("/", "/healthz", "/readyz", "/v1/session")
_CONSOLE: Final = (
    "/assets",
    "/brokers",
    "/topics",
    "/compare",
    "/controller",
    "/events",
    "/reports",
    "/admin",
)  # no data in them
_ROUTES: Final = (
    *("/metrics", "/schema", "/v1/server", "/v1/health", "/v1/clusters", "/v1/brokers", "/v1/routes", "/v1/topics"),
    *("/v1/peers", "/v1/digest", "/v1/overview", "/v1/strip", "/v1/search", "/v1/live", "/v1/controller"),
)
_READ_BY_POST: Final = ("/v1/compare",)
_CLIENT_DATA: Final = ("/history", "/sessions", "/demand", "/elections")  # they contain client addresses

_MAX_FAILURES: Final = 30  # per address, access key and minute
_LOGIN_HINT: Final = "send an access key and its secret: Authorization: Basic or Bearer ACCESS-KEY:SECRET"
_NOT_LOGGED_IN: Final = (401, Problem("not logged in", _LOGIN_HINT, "login-required"))
_WRONG_SECRET: Final = (401, Problem("unknown access key or wrong secret", _LOGIN_HINT, "bad-credentials"))
_TOO_MANY: Final = (
    429,
    Problem("too many wrong secrets for this access key from this address", "wait a minute", "too-many"),
)
_JSON: Final = "application/json"


def needed(method: str, path: str) -> Access | None:
    """The permission that a request needs; None: none. Unknown paths need more rather than less."""
    reads = method in ("GET", "HEAD")
    if path in _OPEN or (reads and any(_is_below(path, page) for page in _CONSOLE)):
        return None
    if not reads:
        return Access.ADMIN_READ if path in _READ_BY_POST else Access.ADMIN_WRITE
    if path.endswith(_CLIENT_DATA):
        return Access.ADMIN_READ
    return Access.ROUTE_READ if any(_is_below(path, route) for route in _ROUTES) else Access.ADMIN_READ


def credentials(headers: Headers) -> tuple[str, str] | None:
    """Access key and secret of the Authorization header; None without one. Raises ValueError if it is malformed."""
    values = [value for name, value in headers if name == b"authorization"]
    if not values:
        return None
    scheme, _, rest = values[0].partition(b" ")
    if len(values) > 1 or scheme.lower() not in (b"basic", b"bearer"):
        raise ValueError("neither Basic nor Bearer")
    try:
        text = (b64decode(rest.strip(), validate=True) if scheme.lower() == b"basic" else rest.strip()).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("malformed") from None
    access_key, colon, secret = text.partition(":")
    if not colon:
        raise ValueError("not ACCESS-KEY:SECRET")
    return access_key, secret


class Authenticator:
    """Checks every request for the guard. Accepts everything while authentication is off."""

    def __init__(self, context: HttpContext) -> None:
        self._context = context
        self._has_console = context.has_console
        self._throttle = LoginThrottle(max_failures=_MAX_FAILURES)

    def check(self, scope: Scope) -> Denial | None:
        """Store the identity in `scope["state"]["identity"]`; returns status and problem if the request is denied."""
        method, path = scope.get("method", "GET"), scope["raw_path"].decode("ascii")
        access = None if is_page_request(scope) and self._has_console else needed(method, path)
        identity, denial = self._identify(scope["headers"], peer_of(scope.get("client"))[0])
        scope.setdefault("state", {})["identity"] = identity
        file = self._context.access
        if access is None or file is None:
            return None
        who = None
        if denial is None and identity is None:
            denial = _NOT_LOGGED_IN
        elif identity is not None and not identity.may(access):
            if identity == file.identities.anonymous:
                denial = _NOT_LOGGED_IN
            else:
                who, hint = identity.name, "use another identity; see docs/security.md"
                denial = (403, Problem(f"{who} has no {access}", hint, "not-allowed"))
        if denial is not None and self._context.denials is not None:
            why = f"http: {denial[1].error}"
            self._context.denials.denied(code=0, why=why, peer=peer_of(scope.get("client"))[1], who=who)
        return denial

    def _identify(self, headers: Headers, host: str) -> tuple[Identity | None, Denial | None]:
        file, now_ms = self._context.access, self._context.now_ms()
        if file is None:
            return None, None
        try:
            given = credentials(headers)
        except ValueError as error:
            return None, (401, Problem(f"the Authorization header is {error}", _LOGIN_HINT, "bad-credentials"))
        if given is not None:
            if self._throttle.wait_s(host, given[0], now_ms):
                return None, _TOO_MANY
            found = file.identities.authenticate(*given)
            if found is None:
                self._throttle.failed(host, given[0], now_ms)
                return None, _WRONG_SECRET
        else:
            of_session = self._context.session_identity
            found = None if of_session is None else of_session(headers, host)
            found = found or file.identities.anonymous
        if found is not None and not found.allows_host(host):
            why = f"{found.name} may not connect from this address"
            return None, (403, Problem(why, "see networks in docs/security.md", "not-allowed"))
        return found, None


def challenge(scope: Scope, status: int) -> list[tuple[bytes, bytes]]:
    """WWW-Authenticate for programs. Browsers get none: they would open a password dialog."""
    from_browser = any(name in (b"sec-fetch-mode", b"cookie") for name, _ in scope["headers"])
    return [(b"www-authenticate", b'Basic realm="routebook"')] if status == 401 and not from_browser else []


def _is_below(path: str, route: str) -> bool:
    return path == route or path.startswith(f"{route}/")


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The client's address and identity; `identity` is None if it did not authenticate."""

    host: str
    address: str
    identity: Identity | None


def caller_of(request: Request[Any, Any, Any]) -> Caller:
    """The caller as the guard identified it."""
    host, address = peer_of(request.scope.get("client"))
    identity = request.scope.get("state", {}).get("identity")
    return Caller(host=host, address=address, identity=identity if isinstance(identity, Identity) else None)


def check_page(request: Request[Any, Any, Any]) -> None:
    """Reject cross-site requests: HTML forms cannot send JSON, and scripts send their origin. Raises ApiError."""
    if not is_same_origin(request.scope["headers"]):
        raise ApiError(403, "cross-site request rejected", "use the console of this server", code="origin")
    if request.method == "POST" and request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        raise ApiError(415, f"the body is not {_JSON}", f"send the header content-type: {_JSON}", code="not-json")
