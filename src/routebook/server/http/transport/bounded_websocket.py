"""WebSockets as uvicorn speaks them, with the time limit that it leaves to others. Imported late: see websocket.py."""

import asyncio

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from routebook.server.http.transport.protocol import STALL_S


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A peer that takes nothing for STALL_S is cut off."""

    _timer: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        self._timer = self.loop.call_later(STALL_S, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._go_on()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._go_on()
        super().connection_lost(exc)

    def _go_on(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
