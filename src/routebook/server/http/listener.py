"""The HTTP port from its start to its end, beside the NameServer and never in its way.

The socket is there at once, so that a port in use is found at the start; who connects early waits a moment. What
serves it is large, and is imported on a thread while the NameServer already answers.
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
    from routebook.server.http.serving import Serving


def announce(address: str) -> None:
    """The line that people and scripts wait for."""
    with contextlib.suppress(OSError, ValueError):  # nobody listens on stdout: no reason not to serve
        sys.stdout.write(f"listening on {address} (http)\n")
        sys.stdout.flush()


class HttpListener:
    """Made, it has its port; `start(context)` once the NameServer listens, then `await stop()`. Each once."""

    def __init__(self, *, host: str, port: int, listening: Callable[[str], None] = announce) -> None:
        """Take the port. Raises ListenError."""
        self._host = host
        self._listening = listening
        self._task: asyncio.Task[None] | None = None
        self._serving: Serving | None = None
        self._socket = open_socket(host, port, chosen_by="--http")
        self.port: int = self._socket.getsockname()[1]
        self.address = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    def start(self, context: HttpContext) -> None:
        """Serve as soon as all that it takes is imported."""
        self._task = asyncio.get_running_loop().create_task(self._serve(context), name="http")
        self._context = context

    async def stop(self) -> None:
        """End streams with a word of farewell, answer what is under way, and close."""
        if self._task is None:
            self._socket.close()
            return
        self._context.feed.close()
        if self._serving is not None:
            self._serving.stop()
        else:
            self._task.cancel()  # still importing
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._socket.close()

    async def _serve(self, context: HttpContext) -> None:
        try:
            self._serving = await asyncio.to_thread(_made, context, self._host)
            await self._serving.run(self._socket, listening=lambda: self._listening(self.address))
        except Exception as error:  # noqa: BLE001  whatever is wrong with HTTP, the NameServer goes on
            get_log("http").unexpected("http does not serve", error, listen=self.address)
            self._socket.close()


def _made(context: HttpContext, host: str) -> "Serving":
    from routebook.server.http.serving import Serving  # noqa: PLC0415  the whole point of this thread

    return Serving(context, host=host)
