"""Around the application: who may ask under which name, what every answer says to browsers, and what is counted."""

from http import HTTPStatus
from time import monotonic
from typing import Final

from routebook.server.http.api.schema_page import STYLE_HASH
from routebook.server.http.auth.authenticate import HttpAccess, challenge
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Problem
from routebook.server.http.live.tab import LOGIN_REQUIRED, NOT_ALLOWED
from routebook.server.http.transport.asgi import Application, Message, Receive, Scope, Send, respond_problem
from routebook.server.http.transport.hosts import is_allowed_host
from routebook.server.http.transport.origin import is_same_origin

# No other site may show or read anything of this server. The console's own policy is in pages.py.
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=(), interest-cohort=()"),
)
_POLICY: Final = (
    b"content-security-policy",
    f"default-src 'none'; style-src '{STYLE_HASH}'; frame-ancestors 'none'; base-uri 'none'".encode(),
)
_NO_STORE: Final = (b"cache-control", b"no-store")
_ENDLESS: Final = "/v1/events"
_UNROUTED: Final = "other"


class Guard:
    """The outermost application."""

    def __init__(self, app: Application, context: HttpContext, *, hosts: frozenset[str] | None) -> None:
        self._app = app
        self._context = context
        self._hosts = hosts
        self._access = HttpAccess(context, monotonic)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
            return
        # Routed as it was sent, still percent-encoded: a name may hold a slash. HEAD is GET without the body, which
        # the server leaves out by itself.
        path = scope["raw_path"].decode("ascii")
        inner: Scope = {**scope, "path": path}
        if scope["method"] == "HEAD" and path != _ENDLESS:
            inner["method"] = "GET"

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                names = {name.lower() for name, _ in headers}
                headers += [header for header in (_POLICY, _NO_STORE) if header[0] not in names]
                message["headers"] = [*headers, *_HEADERS]
                self._count(inner.get("path_template"), message["status"])
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await respond_problem(guarded, 421, refusal)
            return
        denial = self._access.refusal(inner)
        if denial is not None:
            await respond_problem(guarded, *denial, challenge(scope, denial[0]))
            return
        await self._app(inner, receive, guarded)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._refusal(scope) is not None:
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "not known by that name"})
            return
        denial = self._access.refusal(scope)
        if denial is not None and is_same_origin(scope["headers"]):
            # accepted first: a page that is refused at once is not told why
            await receive()
            await send({"type": "websocket.accept"})
            code = LOGIN_REQUIRED if denial[0] == HTTPStatus.UNAUTHORIZED else NOT_ALLOWED
            await send({"type": "websocket.close", "code": code, "reason": denial[1].error[:100]})
            return
        await self._app({**scope, "path": scope["raw_path"].decode("ascii")}, receive, send)

    def _refusal(self, scope: Scope) -> Problem | None:
        given = [value for name, value in scope["headers"] if name == b"host"]
        if not given and scope["http_version"] == "1.0":
            return None
        if len(given) == 1 and is_allowed_host(given[0].decode("latin-1"), self._hosts):
            return None
        return Problem(
            "this server is not known by that name",
            "ask by address or as localhost, or add the name to routebook.http.hosts",
        )

    def _count(self, template: str | None, status: int) -> None:
        counts = self._context.http_requests
        key = (template or _UNROUTED, status)
        counts[key] = counts.get(key, 0) + 1
