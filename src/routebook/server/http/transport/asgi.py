"""ASGI types, and responses sent without a framework."""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, TypeAlias

import msgspec

from routebook.server.http.errors import Problem

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]
Headers: TypeAlias = Sequence[tuple[bytes, bytes]]


async def respond(send: Send, status: int, headers: Headers, body: bytes | None) -> None:
    """Send one complete response; `body` None for a status without a body, such as 304."""
    length = [] if body is None else [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *length]})
    await send({"type": "http.response.body", "body": body or b"", "more_body": False})


async def respond_problem(send: Send, status: int, problem: Problem, headers: Headers = ()) -> None:
    """Send an error as JSON."""
    await respond(send, status, [(b"content-type", b"application/json"), *headers], msgspec.json.encode(problem))


def peer_of(client: tuple[str, int] | None) -> tuple[str, str]:
    """The host and the HOST:PORT of a scope's client."""
    host, port = client or ("unknown", 0)
    return host, f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
