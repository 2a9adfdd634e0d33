"""HTTP/1.1 as uvicorn speaks it, with the time and size limits that it leaves to others.

a request's head     must be there within HEAD_S of the connection, or of its first byte, and below HEAD_BYTES
between requests     KEEP_ALIVE_S (uvicorn's own)
a request's body     must be there HEAD_S after its head; what is left of it after the answer closes the connection
an answer            a peer that has not read enough for STALL_S is cut off
"""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_S: Final = 10.0
HEAD_BYTES: Final = 32 * 1024
KEEP_ALIVE_S: Final = 15
STALL_S: Final = 60.0
_EMPTY_LINE: Final = b"\r\n\r\n"


class BoundedProtocol(HttpToolsProtocol):
    """Nobody holds a connection by doing nothing, or next to nothing."""

    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _head_end = b""
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._limit(HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limit(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            joined = self._head_end + data  # the empty line may come in two pieces
            end = joined.find(_EMPTY_LINE)
            self._head_bytes += len(data) if end < 0 else end  # what follows it is the body's
            self._head_end = joined[-3:]
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("The head of the request is too long.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._in_head = True
        self._limit(HEAD_S)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes, self._head_end = 0, b""
        self._limit(HEAD_S)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._limit(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.cycle.more_body:
            self.transport.close()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self._limit(STALL_S)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._limit(None)
        super().resume_writing()

    def _limit(self, seconds: float | None) -> None:
        """One limit at a time: while a head is read nothing is written, and the other way round."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self._timer = None
        self.transport.abort()
