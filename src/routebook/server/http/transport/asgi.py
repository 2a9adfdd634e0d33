"""The few words of ASGI that are spoken here without a framework."""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]


async def respond(send: Send, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes | None) -> None:
    """One answer, whole; None: it has no body, as 304."""
    length = [] if body is None else [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *length]})
    await send({"type": "http.response.body", "body": body or b"", "more_body": False})
