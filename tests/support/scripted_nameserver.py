"""A server that follows the script of a test: it replies, closes, sends garbage, or does nothing."""

import asyncio
import json
import socket
import ssl
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from tests.support.remoting_frames import frame


class Request:
    """A received request."""

    def __init__(self, header: dict[str, Any], body: bytes) -> None:
        self.header = header
        self.body = body

    @property
    def code(self) -> int:
        return int(self.header["code"])

    @property
    def opaque(self) -> int:
        return int(self.header["opaque"])

    @property
    def ext(self) -> dict[str, str]:
        ext: dict[str, str] = self.header.get("extFields") or {}
        return ext


class Conversation:
    """One connection, seen from the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self.number = number  # from 1, in the order of connecting
        self._reader = reader
        self._writer = writer

    async def request(self) -> Request:
        """The next request; EOFError if the client closed the connection."""
        length = int.from_bytes(await self._reader.readexactly(4), "big")
        data = await self._reader.readexactly(length)
        header_length = int.from_bytes(data[1:4], "big")
        return Request(json.loads(data[4 : 4 + header_length]), data[4 + header_length :])

    def answer(
        self,
        request: Request,
        body: bytes = b"",
        *,
        code: int = 0,
        remark: str | None = None,
        ext: dict[str, str] | None = None,
    ) -> None:
        """Answer this request."""
        header = {"code": code, "extFields": ext or {}, "flag": 1, "language": "JAVA", "opaque": request.opaque}
        header |= {"serializeTypeCurrentRPC": "JSON", "version": 513} | ({} if remark is None else {"remark": remark})
        self.write(frame(json.dumps(header).encode(), body))

    def write(self, data: bytes) -> None:
        """Send any bytes."""
        self._writer.write(data)

    async def closed_by_client(self) -> None:
        """Wait until the client closes; ignore what it still sends."""
        while await self._reader.read(1 << 16):
            pass

    def close(self) -> None:
        """Close."""
        self._writer.close()

    def reset(self) -> None:
        """Reset the connection, as a crashed process does."""
        connection: socket.socket = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self._writer.transport.abort()


Script = Callable[[Conversation], Awaitable[None]]


class ScriptedNameServer:
    """Runs the script for each connection and then closes it. An error in the script fails the test."""

    def __init__(self, script: Script, *, tls: ssl.SSLContext | None = None) -> None:
        self.connections = 0
        self._script = script
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self._errors: list[Exception] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        if error is None and self._errors:
            raise self._errors[0]

    async def stop_listening(self) -> None:
        """Refuse new connections from now on."""
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        try:
            await self._script(Conversation(reader, writer, self.connections))
        except (EOFError, ConnectionError, ssl.SSLError, asyncio.CancelledError):
            pass  # the client closed, or the test is over
        except Exception as error:  # noqa: BLE001 - raised at the end of the test
            self._errors.append(error)
        finally:
            writer.close()


async def answer_all(conversation: Conversation, body: bytes = b'{"topicList":["t"]}') -> None:
    """A script: the same reply to every request."""
    while True:
        conversation.answer(await conversation.request(), body)


async def never_answer(conversation: Conversation) -> None:
    """A script: read everything, reply to nothing."""
    await conversation.closed_by_client()
