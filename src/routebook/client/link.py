"""One connection to a NameServer: concurrent requests, matched with their responses by opaque."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final, cast

from routebook.client.addresses import Address
from routebook.errors import ConnectionFailed, NotANameServer, ProtocolError, Unreachable, Untrusted
from routebook.wire.codec import encode
from routebook.wire.command import Command, SerializeType
from routebook.wire.foreign_protocols import MAX_SERVER_BYTES, describe_server, is_http2_server
from routebook.wire.peer import Peer

_CLOSE_S: Final = 1.0

OnRequest = Callable[[Command], None]


class Link(asyncio.Protocol):
    """An open connection. After it is closed, a new one is needed."""

    def __init__(self, address: Address, on_request: OnRequest | None = None) -> None:
        self.address = address
        self.answered = False  # whether a response was received: then the peer is a NameServer
        self.received = 0  # commands; unchanged means that no complete command arrived
        self._on_request = on_request
        self._peer = Peer()
        self._waiting: dict[int, asyncio.Future[Command]] = {}
        self._first = b""
        self._failure: ConnectionFailed | None = None  # set: no new requests
        self._lost = False  # set: pending requests have failed
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._gone = asyncio.Event()

    @property
    def closed(self) -> bool:
        """Whether it accepts no more requests."""
        return self._failure is not None

    @property
    def gone(self) -> bool:
        """Whether its socket is closed."""
        return self._gone.is_set()

    async def ask(self, command: Command, serialize_type: SerializeType = SerializeType.JSON) -> Command:
        """Send a request and wait for its response; the caller sets a timeout by cancelling."""
        if command.opaque in self._waiting:
            raise ValueError(f"opaque {command.opaque} is in use on this connection")
        future: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        self._waiting[command.opaque] = future
        try:
            await self.send(command, serialize_type)
            return await future
        finally:
            del self._waiting[command.opaque]
            if future.done() and not future.cancelled():
                future.exception()  # marked as retrieved, in case sending failed first
            self._close_if_retired()

    async def send(self, command: Command, serialize_type: SerializeType = SerializeType.JSON) -> None:
        """Send without waiting for a response; returns when the write buffer is below its limit."""
        if self._failure is not None or self._transport is None:
            raise _copy(self._failure or Unreachable(str(self.address), "is not connected"))
        self._transport.write(encode(command, serialize_type))
        await self._writable.wait()
        if self._lost and self._failure is not None:
            raise _copy(self._failure)

    def retire(self) -> None:
        """Accept no more requests, and close when the pending ones are answered."""
        if self._failure is None:
            self._failure = Unreachable(str(self.address), "is shutting down")
        self._close_if_retired()

    def fail(self, failure: ConnectionFailed) -> None:
        """Close at once; pending requests raise `failure`."""
        self._settle(failure)
        self._abort()

    async def aclose(self) -> None:
        """Close gracefully, after a timeout by force; returns when the socket is closed."""
        self._settle(Unreachable(str(self.address), "was closed by this client"))
        if self._transport is None:
            return
        self._transport.close()
        try:
            await asyncio.wait_for(self._gone.wait(), _CLOSE_S)
        except TimeoutError:
            self._abort()
            await self._gone.wait()

    def _settle(self, failure: ConnectionFailed) -> None:
        if self._failure is None or not self._lost:
            self._failure = failure
        self._lost = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(_copy(self._failure))
        self._writable.set()

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _close_if_retired(self) -> None:
        if self._failure is not None and not self._waiting and self._transport is not None:
            self._transport.close()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        plain: socket.socket | None = transport.get_extra_info("socket")
        if plain is not None and plain.family in {socket.AF_INET, socket.AF_INET6}:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        if not self.answered and len(self._first) < MAX_SERVER_BYTES:
            self._first += data[:MAX_SERVER_BYTES]
            if is_http2_server(self._first):
                self.fail(NotANameServer(str(self.address), describe_server(self._first, "HTTP/2")))
                return
        try:
            self._peer.feed(data)
            while (command := self._peer.next_command()) is not None:
                self._receive(command)
        except ProtocolError as error:
            self.fail(NotANameServer(str(self.address), describe_server(self._first, str(error))))

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(self._loss(exc))
        self._transport = None
        self._gone.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _receive(self, command: Command) -> None:
        self.received += 1
        if not command.is_response:
            if self._on_request is not None:
                self._on_request(command)
            return
        self.answered = True
        future = self._waiting.get(command.opaque)
        if future is not None and not future.done():
            future.set_result(command)

    def _loss(self, error: Exception | None) -> ConnectionFailed:
        address = str(self.address)
        if isinstance(error, ssl.SSLError):
            return Untrusted(address, f"ended TLS: {error.reason or error}")
        if self._peer.buffered and not self.answered:
            return NotANameServer(address, describe_server(self._first, "it closed the connection within a frame"))
        if self.answered:
            return Unreachable(address, "closed the connection")
        hint = "closed the connection without a response; it may require TLS, or may not be a NameServer"
        return Unreachable(address, hint)


def _copy(failure: ConnectionFailed) -> ConnectionFailed:
    """Return a copy for each waiting request: an exception keeps the traceback of where it was raised."""
    return type(failure)(failure.address, failure.why)
