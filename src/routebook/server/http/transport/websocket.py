"""uvicorn's WebSocket protocol with a write timeout, loaded when a browser first opens the console.

The `websockets` library is large, so the import waits for the first use. Subclasses a private uvicorn class:
test_transport.py lists the attributes that it relies on.
"""

import asyncio
from functools import cache
from typing import Any

from routebook.server.http.transport.protocol import STALL_TIMEOUT_S


@cache
def load() -> type[asyncio.Protocol]:
    """Import the library and return the protocol class; blocks, so call it on a thread before the first WebSocket."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol  # noqa: PLC0415

    class BoundedWebSocket(WebSocketsSansIOProtocol):
        """Disconnects a peer that stops reading for STALL_TIMEOUT_S."""

        _timer: asyncio.TimerHandle | None = None

        def pause_writing(self) -> None:
            self._timer = self.loop.call_later(STALL_TIMEOUT_S, self.transport.abort)
            super().pause_writing()

        def resume_writing(self) -> None:
            self._cancel_timer()
            super().resume_writing()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel_timer()
            super().connection_lost(exc)

        def _cancel_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return BoundedWebSocket


def websocket(**arguments: Any) -> asyncio.Protocol:
    """Stand in for the class of uvicorn's WebSocket protocol, which uvicorn calls once per connection."""
    return load()(**arguments)
