"""Around the application: who may ask under which name, what every answer says to browsers, and what is counted."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

import msgspec

from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Problem
from routebook.server.http.hosts import is_ours
from routebook.server.http.schema_page import STYLE_HASH

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

# The pages hold no script and load nothing; no other site may show or read them.
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
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
        if refusal is None:
            await self._app(inner, receive, guarded)
        else:
            await _answer(refusal, guarded)

    def _refusal(self, scope: Scope) -> Problem | None:
        given = [value for name, value in scope["headers"] if name == b"host"]
        if not given and scope["http_version"] == "1.0":
            return None
        if len(given) == 1 and is_ours(given[0].decode("latin-1"), self._hosts):
            return None
        return Problem(
            "this server is not known by that name",
            "ask by address or as localhost, or add the name to routebook.http.hosts",
        )

    def _count(self, template: str | None, status: int) -> None:
        counts = self._context.http_requests
        key = (template or _UNROUTED, status)
        counts[key] = counts.get(key, 0) + 1


async def _answer(problem: Problem, send: Send) -> None:
    body = msgspec.json.encode(problem)
    length = str(len(body)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", length)]
    await send({"type": "http.response.start", "status": 421, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
