"""The HTTP port from start to stop.

The socket opens at once, so a port in use stops the server start; early clients wait. The HTTP libraries are large
and are imported on a thread while the NameServer already serves.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from routebook.server.http.context import HttpContext
from routebook.server.net.listeners import open_socket
from routebook.server.observe.log import get_log

if TYPE_CHECKING:
    from routebook.server.http.serving import HttpServer


def announce(address: str) -> None:
    """Print the line that users and scripts wait for."""
    with contextlib.suppress(OSError, ValueError):  # stdout may be closed
        sys.stdout.write(f"listening on {address} (http)\n")
        sys.stdout.flush()


class HttpListener:
    """Opens the port when constructed; `start(context)` once the NameServer listens, then `await stop()`."""

    def __init__(self, *, host: str, port: int, on_listening: Callable[[str], None] = announce) -> None:
        """Open the socket. Raises ListenError."""
        self._host = host
        self._on_listening = on_listening
        self._task: asyncio.Task[None] | None = None
        self._server: HttpServer | None = None
        self._socket = open_socket(host, port, option="--http")
        self.port: int = self._socket.getsockname()[1]
        self.address = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    def start(self, context: HttpContext) -> None:
        """Import the HTTP libraries on a thread, then serve."""
        self._task = asyncio.get_running_loop().create_task(self._serve(context), name="http")
        self._context = context

    async def stop(self) -> None:
        """End streams with a `stopping` event, complete running requests, close the port."""
        if self._task is None:
            self._socket.close()
            return
        self._context.feed.close()
        if self._server is not None:
            self._server.stop()
        else:
            self._task.cancel()  # still importing
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._socket.close()

    async def _serve(self, context: HttpContext) -> None:
        try:
            self._server = await asyncio.to_thread(_create_server, context, self._host)
            await self._server.run(self._socket, on_listening=lambda: self._on_listening(self.address))
        except Exception as error:  # noqa: BLE001  a failure of HTTP must not stop the NameServer
            get_log("http").unexpected("http does not serve", error, listen=self.address)
            self._socket.close()


def _create_server(context: HttpContext, host: str) -> "HttpServer":
    from routebook.server.http.serving import HttpServer  # noqa: PLC0415  the slow import

    return HttpServer(context, host=host)
