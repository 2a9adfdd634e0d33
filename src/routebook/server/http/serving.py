"""Serves HTTP with uvicorn inside the NameServer's event loop; docs/http.md lists the limits."""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Final, cast

import uvicorn

from routebook.server.http.api.parts import Parts
from routebook.server.http.app import create_app
from routebook.server.http.context import HttpContext
from routebook.server.http.guard import Guard
from routebook.server.http.live.socket import PATH, LiveSocket
from routebook.server.http.transport.asgi import Application, Receive, Scope, Send
from routebook.server.http.transport.hosts import allowed_hosts
from routebook.server.http.transport.protocol import KEEP_ALIVE_TIMEOUT_S, BoundedProtocol, EmbeddedServer
from routebook.server.http.transport.static_files import ConsoleFiles, is_page_request
from routebook.server.http.transport.websocket import websocket

_SPARE_CONNECTIONS: Final = 500  # in addition to the watchers
_SHUTDOWN_TIMEOUT_S: Final = 3
_MAX_MESSAGE_BYTES: Final = 64 * 1024  # from a console


class HttpServer:
    """Constructed on any thread; run and stopped on the event loop."""

    def __init__(self, context: HttpContext, *, host: str) -> None:
        settings = context.nameserver.settings
        self._parts = Parts(context)
        hosts = allowed_hosts(host, socket.gethostname(), setting=settings.http_hosts)
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # any client can trigger its warnings
        self._server = EmbeddedServer(
            uvicorn.Config(
                Guard(Dispatcher(self._parts), context, hosts=hosts),
                http=BoundedProtocol,
                ws=cast("type[asyncio.Protocol]", websocket) if context.has_console else "none",
                ws_max_size=_MAX_MESSAGE_BYTES,
                ws_per_message_deflate=False,  # would compress once per console
                loop="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_TIMEOUT_S,
                timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
                limit_concurrency=settings.http_watchers + _SPARE_CONNECTIONS,
            )
        )
        self._server.config.load()

    async def run(self, sock: socket.socket, *, on_listening: Callable[[], None]) -> None:
        """Serve until `stop`, then complete running requests."""
        self._server.on_listening = on_listening
        self._parts.hub.start()
        try:
            await self._server.serve([sock])
        finally:
            self._parts.close()

    def stop(self) -> None:
        self._parts.hub.stop()
        self._server.should_exit = True


class Dispatcher:
    """Routes requests to the console's files, its WebSocket, or the API. Paths are still percent-encoded."""

    def __init__(self, parts: Parts) -> None:
        has_console = parts.context.has_console
        self._api: Application = create_app(parts)
        self._files = ConsoleFiles() if has_console else None
        self._live = LiveSocket(parts.context, parts.hub, parts.journal) if has_console else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if scope["type"] == "websocket":
            if self._live is not None and path == PATH:
                await self._live(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": "path not found"})
        elif self._files is not None and (self._files.serves(path) or is_page_request(scope)):
            await self._files(scope, receive, send)
        else:
            await self._api(scope, receive, send)
