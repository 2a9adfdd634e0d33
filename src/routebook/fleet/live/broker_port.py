"""A broker's own port: takes connections of clients, answers what is a matter of manners, and declines the rest.

It has no store. It does not send, pull or keep messages; who asks for that gets code 3, as from a broker that does not
know the request, unless a test brings an answer of its own.
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
_REMEMBERED: Final = 10_000

Answer: TypeAlias = Callable[[Command], Reply]


def _polite(_command: Command) -> Reply:
    return Reply()


_MANNERS: Final[Mapping[int, Answer]] = {
    HEART_BEAT: _polite,
    UNREGISTER_CLIENT: _polite,
    RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE: _polite,
}


class BrokerPort:
    """Listens from `start` to `close`. `received` is what came, the newest last."""

    def __init__(self, *, answers: Mapping[int, Answer] | None = None) -> None:
        """`answers` are by request code, and go before those that it has itself."""
        self.received: deque[Command] = deque(maxlen=_REMEMBERED)
        self.connections = 0  # open now
        self.port = 0
        self._answers = {**_MANNERS, **(answers or {})}
        self._server: asyncio.Server | None = None
        self._transports: set[asyncio.Transport] = set()

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Raises OSError if the port cannot be had."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Visitor(self), host, port)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """End, and every connection with it."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for transport in list(self._transports):
            transport.abort()

    def answer(self, command: Command) -> Reply:
        """What is answered."""
        self.received.append(command)
        answer = self._answers.get(command.code)
        if answer is not None:
            return answer(command)
        return Reply(code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=f" request type {command.code} not supported")

    def came(self, transport: asyncio.Transport) -> None:
        self._transports.add(transport)
        self.connections = len(self._transports)

    def went(self, transport: asyncio.Transport) -> None:
        self._transports.discard(transport)
        self.connections = len(self._transports)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Visitor(asyncio.Protocol):
    """One connection to a broker."""

    _transport: asyncio.Transport

    def __init__(self, port: BrokerPort) -> None:
        self._port = port
        self._peer = Peer()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._port.came(self._transport)

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
        self._port.went(self._transport)
