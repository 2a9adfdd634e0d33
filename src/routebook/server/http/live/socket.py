"""`/v1/live`: the WebSocket of one console."""

from contextlib import aclosing
from typing import Final
from urllib.parse import parse_qs

from routebook.access.classes import Access
from routebook.access.identity import Identity
from routebook.journal.record import Record
from routebook.server.http.context import HttpContext
from routebook.server.http.live.hub import Hub, select_events
from routebook.server.http.live.journal_window import JournalWindow
from routebook.server.http.live.messages import Events, Missed, encode_message, summarize
from routebook.server.http.live.tab import TOO_MANY, Tab
from routebook.server.http.transport.asgi import Receive, Scope, Send
from routebook.server.http.transport.hosts import is_same_origin

PATH: Final = "/v1/live"
_MAX_REPLAYED: Final = 500


class LiveSocket:
    """ASGI application; the guard has authenticated the request."""

    def __init__(self, context: HttpContext, hub: Hub, journal: JournalWindow | None) -> None:
        self._context = context
        self._hub = hub
        self._journal = journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        if not is_same_origin(scope["headers"]):
            await send({"type": "websocket.close", "code": 1008, "reason": "cross-site request rejected"})
            return
        await send({"type": "websocket.accept"})
        context = self._context
        if context.watchers >= context.nameserver.settings.http_watchers:
            await send({"type": "websocket.close", "code": TOO_MANY, "reason": "too many watchers"})
            return
        # events contain client addresses and need more permission than routes
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
        except OSError:  # disconnected
            pass
        finally:
            self._hub.leave(tab)
            context.watchers -= 1

    async def _replay(self, after: int, upto: int, send: Send) -> None:
        """Send the events since the console was last connected, at most the newest _MAX_REPLAYED."""
        if self._journal is None:
            await _send(send, Missed(first=after + 1, last=upto, why="the journal is off"))
            return
        if upto - after > _MAX_REPLAYED:
            why = f"more than {_MAX_REPLAYED} records; see /v1/records"
            await _send(send, Missed(first=after + 1, last=upto - _MAX_REPLAYED, why=why))
            after = upto - _MAX_REPLAYED
        async with aclosing(self._journal.between(after, upto)) as batches:
            async for batch in batches:
                records: list[Record] = []
                for entry in batch:
                    if entry.record is not None:
                        records.append(entry.record)
                    elif entry.missing is not None:
                        missing = entry.missing
                        await _send(send, Missed(first=missing.first, last=missing.last, why=missing.why))
                events = [summarize(record) for record in select_events(records, None)]
                if events:
                    await _send(send, Events(events=events))


async def _send(send: Send, message: Missed | Events) -> None:
    await send({"type": "websocket.send", "text": encode_message(message)})


def _after(scope: Scope) -> int | None:
    value: str = parse_qs(scope["query_string"].decode("latin-1")).get("after", [""])[-1]
    return int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None
