"""uvicorn inside a running event loop: no signals, no logs of its own, limits as docs/http.md says."""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Final, cast

import uvicorn

from routebook.server.http.app import Parts, build
from routebook.server.http.context import HttpContext
from routebook.server.http.front import Front
from routebook.server.http.guard import Guard
from routebook.server.http.live.socket import LiveSocket
from routebook.server.http.transport.hosts import allowed_hosts
from routebook.server.http.transport.protocol import KEEP_ALIVE_TIMEOUT_S, BoundedProtocol
from routebook.server.http.transport.server import EmbeddedServer
from routebook.server.http.transport.static_files import ConsoleFiles
from routebook.server.http.transport.websocket import websocket

_SPARE_CONNECTIONS: Final = 500  # beside the watchers
_STOP_S: Final = 3
_MESSAGE_BYTES: Final = 64 * 1024  # of what a console may say at once


class Serving:
    """Made on any thread; run and stopped on the loop's."""

    def __init__(self, context: HttpContext, *, host: str) -> None:
        settings = context.nameserver.settings
        self._parts = Parts(context)
        hosts = allowed_hosts(host, socket.gethostname(), setting=settings.http_hosts)
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # strangers can cause its warnings at will
        self._server = EmbeddedServer(
            uvicorn.Config(
                Guard(_front(self._parts), context, hosts=hosts),
                http=BoundedProtocol,
                ws=cast("type[asyncio.Protocol]", websocket) if settings.console.enabled else "none",
                ws_max_size=_MESSAGE_BYTES,
                ws_per_message_deflate=False,  # it would be done once for each console
                loop="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_TIMEOUT_S,
                timeout_graceful_shutdown=_STOP_S,
                limit_concurrency=settings.http_watchers + _SPARE_CONNECTIONS,
            )
        )
        self._server.config.load()

    async def run(self, sock: socket.socket, *, listening: Callable[[], None]) -> None:
        """Until `stop`, and a little longer for answers that are under way."""
        self._server.on_listening = listening
        self._parts.hub.start()
        try:
            await self._server.serve([sock])
        finally:
            self._parts.close()

    def stop(self) -> None:
        self._parts.hub.stop()
        self._server.should_exit = True


def _front(parts: Parts) -> Front:
    if not parts.context.nameserver.settings.console.enabled:
        return Front(build(parts), None, None)
    return Front(build(parts), ConsoleFiles(), LiveSocket(parts.context, parts.hub, parts.journal))
