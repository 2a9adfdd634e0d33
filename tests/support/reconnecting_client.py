"""An asyncio remoting client that connects on demand and reconnects after an error."""

import asyncio
import contextlib
from typing import Self

from tests.support.remoting_frames import Reply, Request


class ReconnectingClient:
    """Sends one request at a time. Without a reply in time it raises ConnectionError and drops the connection."""

    def __init__(self, port: int, *, timeout_s: float = 20.0) -> None:
        self._port = port
        self._timeout_s = timeout_s
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Request) -> Reply:
        try:
            async with asyncio.timeout(self._timeout_s):
                if self._streams is None:
                    self._streams = await asyncio.open_connection("127.0.0.1", self._port)
                reader, writer = self._streams
                writer.write(request.encode())
                length = await reader.readexactly(4)
                return Reply.parse(length + await reader.readexactly(int.from_bytes(length, "big")))
        except (OSError, asyncio.IncompleteReadError) as error:
            self.abort()
            raise ConnectionError from error

    async def close(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()
            with contextlib.suppress(OSError):
                await streams[1].wait_closed()

    def abort(self) -> None:
        """Close without waiting."""
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].transport.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()
