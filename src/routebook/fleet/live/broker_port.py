"""A simulated broker's own port: accepts clients and answers heartbeats, but stores no messages.

Other requests get code 3 (request code not supported), unless a test supplies its own answers.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self, TypeAlias, cast

from routebook.codes import RequestCode, ResponseCode
from routebook.errors import ProtocolError
from routebook.wire.codec import encode_reply
from routebook.wire.command import Command, Reply
from routebook.wire.peer import Peer

HEART_BEAT: Final = 34
UNREGISTER_CLIENT: Final = 35
_MAX_RECEIVED: Final = 10_000

Answer: TypeAlias = Callable[[Command], Reply]


def _success(_command: Command) -> Reply:
    return Reply()


_DEFAULT_ANSWERS: Final[Mapping[int, Answer]] = {
    HEART_BEAT: _success,
    UNREGISTER_CLIENT: _success,
    RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE: _success,
}


class BrokerPort:
    """Listens from `start` to `close`. `received` holds the requests, newest last."""

    def __init__(self, *, answers: Mapping[int, Answer] | None = None) -> None:
        """`answers`, by request code, override the default ones."""
        self.received: deque[Command] = deque(maxlen=_MAX_RECEIVED)
        self.connections = 0  # open now
        self.port = 0
        self._answers = {**_DEFAULT_ANSWERS, **(answers or {})}
        self._server: asyncio.Server | None = None
        self._transports: set[asyncio.Transport] = set()

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Start to listen. Raises OSError if the port is not available."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _ClientProtocol(self), host, port)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Stop listening and abort all connections."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for transport in list(self._transports):
            transport.abort()

    def answer(self, command: Command) -> Reply:
        """Return the reply to a request."""
        self.received.append(command)
        answer = self._answers.get(command.code)
        if answer is not None:
            return answer(command)
        return Reply(code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=f" request type {command.code} not supported")

    def connection_opened(self, transport: asyncio.Transport) -> None:
        self._transports.add(transport)
        self.connections = len(self._transports)

    def connection_closed(self, transport: asyncio.Transport) -> None:
        self._transports.discard(transport)
        self.connections = len(self._transports)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _ClientProtocol(asyncio.Protocol):
    """One client connection to a broker."""

    _transport: asyncio.Transport

    def __init__(self, port: BrokerPort) -> None:
        self._port = port
        self._peer = Peer()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._port.connection_opened(self._transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._peer.feed(data)
            while (command := self._peer.next_command()) is not None:
                if command.is_response:
                    continue
                reply = self._port.answer(command)
                if not command.is_oneway:
                    self._transport.write(encode_reply(command.opaque, reply))
        except ProtocolError:
            self._transport.abort()

    def connection_lost(self, _exc: Exception | None) -> None:
        self._port.connection_closed(self._transport)
