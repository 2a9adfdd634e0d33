"""A broker's connection to one controller node: requests matched by opaque, heartbeats one-way."""

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from itertools import count
from typing import Final

from tests.support.remoting_frames import Reply, Request

ASK_S: Final = 1.5
_ONEWAY: Final = 2


class Connection:
    """Connects on demand from the broker's own address; any error closes it."""

    def __init__(self, node: tuple[str, int], source: str, running: asyncio.Event) -> None:
        """While `running` is not set, the broker is frozen: nothing is sent or read, and connections stay open."""
        self.node = node
        self._source = source
        self._running = running
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._opaques = count(1)

    async def ask(self, code: int, ext: Mapping[str, object], body: bytes = b"") -> Reply:
        """Raises ConnectionError where no answer arrives."""
        opaque = next(self._opaques)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[opaque] = answer
        try:
            async with asyncio.timeout(ASK_S):
                await self._send(Request(code=code, opaque=opaque, ext=_text(ext), body=body))
                return await answer
        except TimeoutError:
            self.close()
            raise ConnectionError("no answer in time") from None
        except OSError as error:
            self.close()
            raise ConnectionError(str(error)) from error
        finally:
            self._waiting.pop(opaque, None)
            await self._running.wait()

    async def tell(self, code: int, ext: Mapping[str, object]) -> None:
        """Send one-way; errors close the connection."""
        try:
            async with asyncio.timeout(ASK_S):
                await self._send(Request(code=code, opaque=next(self._opaques), ext=_text(ext), flag=_ONEWAY))
        except OSError:
            self.close()

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if self._writer is not None:
            self._writer.transport.abort()
            self._writer = None
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionError("closed"))
                answer.exception()  # retrieved, even if the request has given up waiting

    async def _send(self, request: Request) -> None:
        await self._running.wait()
        async with self._connecting:
            if self._writer is None:
                reader, self._writer = await asyncio.open_connection(*self.node, local_addr=(self._source, 0))
                link = self._writer.get_extra_info("socket")
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(ASK_S * 1000))
                self._reading = asyncio.create_task(self._read(reader))
        self._writer.write(request.encode())

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                length = await reader.readexactly(4)
                reply = Reply.parse(length + await reader.readexactly(int.from_bytes(length, "big")))
                await self._running.wait()
                answer = self._waiting.get(int(reply.header["opaque"]))
                if answer is not None and not answer.done():
                    answer.set_result(reply)
        self._reading = None
        self.close()


def _text(ext: Mapping[str, object]) -> dict[str, str]:
    return {key: str(value) for key, value in ext.items()}
