"""A server inside the test process, with a home folder, and a client for its port."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from routebook.server.http.listener import HttpListener
from routebook.server.server import Server
from routebook.server.state.home import Home
from routebook.settings import Settings, from_values
from tests.support.remoting_frames import Reply, Request

TIMEOUT_S = 60


def settings_for(home: Path, **values: object) -> Settings:
    """Settings by their keys, with `_` for `.`."""
    given = {"listenPort": "0", "routebook.http.listen": "off"}
    given |= {key.replace("_", "."): str(value).lower() for key, value in values.items()}
    return Settings.build([from_values(given)], home=str(home))


@asynccontextmanager
async def running(home: Path, *, cold: bool = False, **values: object) -> AsyncIterator[Server]:
    """A server with its state in `home`; it is shut down at the end."""
    with Home.open(home) as opened:
        server = Server.open(settings_for(home, **values), home=opened, cold=cold)
        await server.start()
        try:
            yield server
        finally:
            await server.stop("the test is over")


@asynccontextmanager
async def serving_http(server: Server) -> AsyncIterator[str]:
    """The HTTP port of a running server, with history and peers: its address, HOST:PORT."""
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    http = HttpListener(host="127.0.0.1", port=0, on_listening=listening.set_result)
    await server.start_history_and_peers()
    http.start(server.http_context())
    async with asyncio.timeout(TIMEOUT_S):
        await listening
    try:
        yield http.address
    finally:
        await http.stop()


class ServerConnection:
    """One connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, request: Request) -> Reply:
        self._writer.write(request.encode())
        async with asyncio.timeout(TIMEOUT_S):
            length = await self._reader.readexactly(4)
            return Reply.parse(length + await self._reader.readexactly(int.from_bytes(length, "big")))

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[ServerConnection]:
    """An open connection; it is closed at the end."""
    connection = ServerConnection(*await asyncio.open_connection("127.0.0.1", server.port))
    try:
        yield connection
    finally:
        await connection.close()


async def until(condition: Callable[[], bool], what: str) -> None:
    """Poll until the condition holds."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while not condition():  # noqa: ASYNC110  there is no event to wait for
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"not within {TIMEOUT_S} s: {what}") from None
