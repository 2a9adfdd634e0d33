"""uvicorn's HTTP/1.1 protocol with limits on time and size, and its server inside a running event loop.

request head      complete within HEAD_TIMEOUT_S of the connection or of its first byte, at most MAX_HEAD_BYTES
request body      complete within HEAD_TIMEOUT_S of its head; unread rest after the response closes the connection
between requests  KEEP_ALIVE_TIMEOUT_S (uvicorn's own timer)
response          a peer that stops reading for STALL_TIMEOUT_S is disconnected

Subclasses private uvicorn classes: test_transport.py lists the attributes that they rely on.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_TIMEOUT_S: Final = 10.0
MAX_HEAD_BYTES: Final = 32 * 1024
KEEP_ALIVE_TIMEOUT_S: Final = 15
STALL_TIMEOUT_S: Final = 60.0
_EMPTY_LINE: Final = b"\r\n\r\n"
_HEADER_OVERHEAD: Final = len(": \r\n")
_TOO_LONG: Final = f"The request head is longer than {MAX_HEAD_BYTES} bytes."


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections that are idle, slow, or send an oversized head."""

    _timer: asyncio.TimerHandle | None = None
    _in_head = True  # before and while a head is read; False while a body is read
    _has_ended = False  # a request ended inside the current chunk
    _is_pipelined = False  # another one began after it
    _has_body = False  # the current chunk holds a part of a body
    _head_bytes = 0
    _head_tail = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._set_timeout(HEAD_TIMEOUT_S)

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_timeout(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            if self._head_bytes == 0 and self._is_idle():
                self._set_timeout(HEAD_TIMEOUT_S)  # also for bytes that do not start a head, such as empty lines
            joined = self._head_tail + data  # the empty line may be split over two chunks
            end = joined.find(_EMPTY_LINE)
            # the body follows the empty line
            self._head_bytes += len(data) if end < 0 else end + len(_EMPTY_LINE) - len(self._head_tail)
            self._head_tail = joined[-3:]
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response(_TOO_LONG)
                return
        self._has_ended = self._is_pipelined = self._has_body = False
        super().data_received(data)
        if self._is_pipelined and self._in_head:
            # after a body the start of the next head is unknown: count the complete lines only
            rest = b"" if self._has_body else data[data.rfind(_EMPTY_LINE) + len(_EMPTY_LINE) :]
            self._head_bytes, self._head_tail = max(len(rest), self._parsed_bytes()), data[-3:]
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response(_TOO_LONG)

    def on_message_begin(self) -> None:
        self._is_pipelined = self._has_ended
        self._set_timeout(HEAD_TIMEOUT_S)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._is_pipelined and self._parsed_bytes() > MAX_HEAD_BYTES:
            raise ValueError(_TOO_LONG)  # uvicorn answers 400
        self._set_timeout(HEAD_TIMEOUT_S)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._has_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head = self._has_ended = True
        self._head_bytes, self._head_tail = 0, b""
        self._set_timeout(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.cycle.more_body:
            self.transport.close()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self._set_timeout(STALL_TIMEOUT_S)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._set_timeout(None)
        super().resume_writing()

    def _is_idle(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _parsed_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + _HEADER_OVERHEAD for name, value in self.headers)

    def _set_timeout(self, seconds: float | None) -> None:
        """Replace the timeout. One timer is enough: a connection reads a head or writes a response, never both."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._time_out)

    def _time_out(self) -> None:
        self._timer = None
        self.transport.abort()


class EmbeddedServer(uvicorn.Server):
    """Leaves signals to the process and reports when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.on_listening: Callable[[], None] = lambda: None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_listening()
