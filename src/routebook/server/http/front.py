"""Who answers what: the console's files, its WebSocket, and the API for all the rest."""

from routebook.server.http.live.socket import PATH, LiveSocket
from routebook.server.http.transport.asgi import Application, Receive, Scope, Send
from routebook.server.http.transport.static_files import ConsoleFiles


class Front:
    """Paths come as they were sent, still percent-encoded. Without a console the API answers alone."""

    def __init__(self, api: Application, pages: ConsoleFiles | None, live: LiveSocket | None) -> None:
        self._api = api
        self._pages = pages
        self._live = live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if scope["type"] == "websocket":
            if self._live is not None and path == PATH:
                await self._live(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": "there is no such path"})
        elif self._pages is not None and self._pages.serves(path):
            await self._pages(scope, receive, send)
        else:
            await self._api(scope, receive, send)
