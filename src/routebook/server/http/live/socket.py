"""`/v1/live`: one console's WebSocket, from the handshake to its end."""

from contextlib import aclosing
from typing import Final
from urllib.parse import parse_qs

from routebook.access.classes import Access
from routebook.access.identity import Identity
from routebook.journal.record import Record
from routebook.server.http.context import HttpContext
from routebook.server.http.live.hub import Hub, wanted_of
from routebook.server.http.live.journal_window import JournalPast
from routebook.server.http.live.messages import Events, Missed, text_of
from routebook.server.http.live.shortened import shortened
from routebook.server.http.live.tab import TOO_MANY, Tab
from routebook.server.http.transport.asgi import Receive, Scope, Send
from routebook.server.http.transport.origin import is_same_origin

PATH: Final = "/v1/live"
_MOST_REPLAYED: Final = 500


class LiveSocket:
    """The application behind the path. Who may ask is settled before: by the guard."""

    def __init__(self, context: HttpContext, hub: Hub, journal: JournalPast | None) -> None:
        self._context = context
        self._hub = hub
        self._journal = journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        if not is_same_origin(scope["headers"]):
            await send({"type": "websocket.close", "code": 1008, "reason": "another site's page"})
            return
        await send({"type": "websocket.accept"})
        context = self._context
        if context.watchers >= context.nameserver.settings.http_watchers:
            await send({"type": "websocket.close", "code": TOO_MANY, "reason": "too many watch already"})
            return
        # events tell who asked for what, and from where: more than routes
        identity = scope.get("state", {}).get("identity")
        muted = context.access is not None and not (isinstance(identity, Identity) and identity.may(Access.ADMIN_READ))
        tab = Tab(muted=muted)
        after = None if muted else _after(scope)
        context.watchers += 1
        try:
            await self._hub.prime()
            for text in self._hub.join(tab):
                await send({"type": "websocket.send", "text": text})
            if after is not None and after < tab.done:
                await self._replay(after, tab.done, send)
            await tab.serve(receive, send)
        except OSError:  # it left while it was told
            pass
        finally:
            self._hub.leave(tab)
            context.watchers -= 1

    async def _replay(self, after: int, upto: int, send: Send) -> None:
        """What happened since the console was last here, or the end of it."""
        if self._journal is None:
            await _say(send, Missed(first=after + 1, last=upto, why="there is no journal"))
            return
        if upto - after > _MOST_REPLAYED:
            why = f"more than {_MOST_REPLAYED} records; /v1/records has them"
            await _say(send, Missed(first=after + 1, last=upto - _MOST_REPLAYED, why=why))
            after = upto - _MOST_REPLAYED
        async with aclosing(self._journal.between(after, upto)) as batches:
            async for batch in batches:
                records: list[Record] = []
                for entry in batch:
                    if entry.record is not None:
                        records.append(entry.record)
                    elif entry.missing is not None:
                        gone = entry.missing
                        await _say(send, Missed(first=gone.first, last=gone.last, why=gone.why))
                events = [shortened(record) for record in wanted_of(records, None)]
                if events:
                    await _say(send, Events(events=events))


async def _say(send: Send, message: Missed | Events) -> None:
    await send({"type": "websocket.send", "text": text_of(message)})


def _after(scope: Scope) -> int | None:
    given: str = parse_qs(scope["query_string"].decode("latin-1")).get("after", [""])[-1]
    return int(given) if given.isascii() and given.isdigit() and len(given) < 20 else None
