"""Connections that this server opens itself: to brokers that are told something, to NameServers that are asked."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias, cast

from routebook.errors import ProtocolError
from routebook.wire.command import Command
from routebook.wire.peer import Peer

CONNECT_TIMEOUT_S: Final = 3.0
_IDLE_S: Final = 120.0
_MAX_WAITING: Final = 256  # frames for one address; the oldest go first

Trouble: TypeAlias = Callable[[str, str], None]
"""Told the address and what is wrong with it."""


class Link(asyncio.Protocol):
    """One address: connected when there is something to send, closed when there is nothing for long."""

    def __init__(self, address: str, *, trouble: Trouble, received: Callable[[Command], None] | None = None) -> None:
        self.address = address
        self._trouble = trouble
        self._received = received
        self._waiting: deque[bytes] = deque(maxlen=_MAX_WAITING)
        self._connecting: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._peer = Peer()
        self._idle: asyncio.TimerHandle | None = None
        self._last_active = 0.0
        self._closed = False  # by this side

    @property
    def unused(self) -> bool:
        return self._transport is None and self._connecting is None

    def send(self, frame: bytes) -> None:
        """Send it now, or as soon as there is a connection."""
        self._last_active = asyncio.get_running_loop().time()
        if self._transport is not None and not self._transport.is_closing():
            if self._transport.get_write_buffer_size() < 1 << 20:
                self._transport.write(frame)
            else:
                self._trouble(self.address, "it does not read what it is sent")
            return
        self._waiting.append(frame)
        if self._connecting is None:
            self._connecting = asyncio.get_running_loop().create_task(self._connect())

    def close(self) -> None:
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        if self._idle is not None:
            self._idle.cancel()
        if self._transport is not None:
            self._transport.close()

    async def _connect(self) -> None:
        host, _, port = self.address.rpartition(":")
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await asyncio.get_running_loop().create_connection(lambda: self, host.strip("[]"), int(port))
        except TimeoutError:
            self._give_up(f"no connection within {CONNECT_TIMEOUT_S:g} s")
        except (OSError, ValueError, OverflowError, UnicodeError) as error:
            self._give_up(str(getattr(error, "strerror", None) or error))
        finally:
            self._connecting = None

    def _give_up(self, why: str) -> None:
        self._waiting.clear()
        self._trouble(self.address, why)

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._peer = Peer()
        self._closed = False
        while self._waiting:
            self.send(self._waiting.popleft())
        self._watch_idle()

    def data_received(self, data: bytes) -> None:
        self._last_active = asyncio.get_running_loop().time()
        self._peer.feed(data)
        try:
            while (command := self._peer.next_command()) is not None:
                if self._received is not None and command.is_response:
                    self._received(command)
        except ProtocolError as error:
            self._trouble(self.address, str(error))
            self.close()

    def connection_lost(self, _exc: Exception | None) -> None:
        self._transport = None
        if self._idle is not None:
            self._idle.cancel()
        if not self._closed and self._received is not None:
            self._trouble(self.address, "it closed the connection")

    def _watch_idle(self) -> None:
        loop = asyncio.get_running_loop()
        due = self._last_active + _IDLE_S
        if due <= loop.time():
            self.close()
        else:
            self._idle = loop.call_at(due, self._watch_idle)
