"""WebSockets are spoken by a library of some size: it is loaded when somebody opens the console, not before."""

import asyncio
from typing import Any


def load() -> None:
    """On a thread, before the first WebSocket comes, so that the event loop need not wait for it."""
    import routebook.server.http.transport.bounded_websocket  # noqa: F401, PLC0415


def websocket(**given: Any) -> asyncio.Protocol:
    """What uvicorn calls as the class of its WebSocket protocol."""
    from routebook.server.http.transport.bounded_websocket import BoundedWebSocket  # noqa: PLC0415

    return BoundedWebSocket(**given)
