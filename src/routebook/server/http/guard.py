"""The outermost ASGI application: Host check, authentication, security headers, request counts."""

import asyncio
import contextlib
from http import HTTPStatus
from typing import Final

from routebook.server.http.auth.authenticate import Authenticator, challenge
from routebook.server.http.auth.open_streams import OpenStreams
from routebook.server.http.auth.sessions import MAX_COOKIE_BYTES
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Problem
from routebook.server.http.live.tab import LOGIN_REQUIRED, NOT_ALLOWED
from routebook.server.http.transport.asgi import Application, Message, Receive, Scope, Send, respond_problem
from routebook.server.http.transport.hosts import is_allowed_host, is_same_origin
from routebook.server.http.views.schema_page import STYLE_HASH

# Other sites may neither embed nor read this server. The console has a policy of its own: static_files.py.
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
_STREAM: Final = "/v1/events"
_END_TIMEOUT_S: Final = 1.0  # for the last message to a client that reads slowly
_UNROUTED: Final = "other"
_UNKNOWN_HOST: Final = Problem(
    "the Host header does not name this server",
    "use an IP address or localhost, or add the name to routebook.http.hosts",
)

_LONG_COOKIE: Final = (
    431,
    Problem(
        "the Cookie header is too long", f"send at most {MAX_COOKIE_BYTES} bytes; delete other cookies of this host"
    ),
)


class Guard:
    """Wraps the application."""

    def __init__(self, app: Application, context: HttpContext, *, hosts: frozenset[str] | None) -> None:
        self._app = app
        self._context = context
        self._hosts = hosts
        self._authenticator = Authenticator(context)
        self._streams = OpenStreams(context)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The path stays percent-encoded for routing: a name may contain a slash.
        path = scope["raw_path"].decode("ascii")
        inner: Scope = {**scope, "path": path}
        if scope["type"] == "websocket":
            await self._websocket(inner, receive, send)
            return
        if scope["method"] == "HEAD" and path != _STREAM:
            inner["method"] = "GET"  # uvicorn omits the body

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                names = {name.lower() for name, _ in headers}
                headers += [header for header in (_POLICY, _NO_STORE) if header[0] not in names]
                message["headers"] = [*headers, *_HEADERS]
                self._count(inner.get("path_template"), message["status"])
            await send(message)

        if not self._is_allowed_host(scope):
            await respond_problem(guarded, 421, _UNKNOWN_HOST)
            return
        denial = _LONG_COOKIE if _has_long_cookie(scope) else self._authenticator.check(inner)
        if denial is not None:
            await respond_problem(guarded, *denial, challenge(scope, denial[0]))
            return
        if path != _STREAM:
            await self._app(inner, receive, guarded)
        elif not await self._streams.serve(inner["state"]["identity"], self._app(inner, receive, guarded)):
            await _end(send, {"type": "http.response.body", "body": b"", "more_body": False})

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_allowed_host(scope):
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": _UNKNOWN_HOST.error})
            return
        denial = _LONG_COOKIE if _has_long_cookie(scope) else self._authenticator.check(scope)
        if denial is not None and is_same_origin(scope["headers"]):
            # accept first: a browser does not show a page the reason of a rejected handshake
            await receive()
            await send({"type": "websocket.accept"})
            code = LOGIN_REQUIRED if denial[0] == HTTPStatus.UNAUTHORIZED else NOT_ALLOWED
            await send({"type": "websocket.close", "code": code, "reason": denial[1].error[:100]})
            return
        if not await self._streams.serve(scope["state"]["identity"], self._app(scope, receive, send)):
            await _end(send, {"type": "websocket.close", "code": LOGIN_REQUIRED, "reason": "access was revoked"})

    def _is_allowed_host(self, scope: Scope) -> bool:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if not hosts and scope["http_version"] == "1.0":
            return True
        return len(hosts) == 1 and is_allowed_host(hosts[0].decode("latin-1"), self._hosts)

    def _count(self, template: str | None, status: int) -> None:
        self._context.http_requests[template or _UNROUTED, status] += 1


async def _end(send: Send, message: Message) -> None:
    """Complete a response that was interrupted."""
    with contextlib.suppress(TimeoutError, OSError, RuntimeError):  # RuntimeError: nothing was sent, or all
        async with asyncio.timeout(_END_TIMEOUT_S):
            await send(message)


def _has_long_cookie(scope: Scope) -> bool:
    return sum(len(value) for name, value in scope["headers"] if name == b"cookie") > MAX_COOKIE_BYTES
