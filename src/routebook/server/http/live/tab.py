"""One open console: what waits for it, within bounds, and the socket it goes to."""

import asyncio
import contextlib
from collections import deque
from typing import Final

import msgspec

from routebook.journal.read.select import Selection
from routebook.server.http.live.messages import Dropped, decode_watch, text_of
from routebook.server.http.transport.asgi import Receive, Send

NONSENSE: Final = 4400
LOGIN_REQUIRED: Final = 4401
NOT_ALLOWED: Final = 4403
TOO_SLOW: Final = 4408
TOO_MANY: Final = 4429
STOPS: Final = 1012

_MOST_WAITING: Final = 64
_MOST_WAITING_CHARS: Final = 4 << 20
_FAREWELL_S: Final = 1.0


class Tab:
    """`push` never waits. `wanted` is None for the usual events; `off` for none. One that is `muted` gets none ever."""

    def __init__(self, *, muted: bool = False) -> None:
        self._muted = muted
        self.wanted: Selection | None = None
        self.off = muted
        self.done = 0  # the last number that it was told of
        self._over = asyncio.Event()  # it is too slow
        self._waiting: deque[tuple[str, int]] = deque()
        self._chars = 0
        self._woken = asyncio.Event()
        self._end: tuple[int, str] | None = None

    @property
    def dropped(self) -> bool:
        return self._over.is_set()

    def push(self, text: str, *, seq: int) -> None:
        """Send this; the console is then told of everything up to `seq`."""
        if self.dropped or self._end is not None:
            return
        if self._waiting and (len(self._waiting) >= _MOST_WAITING or self._chars + len(text) > _MOST_WAITING_CHARS):
            self._over.set()
            self._waiting.clear()
        else:
            self._waiting.append((text, seq))
            self._chars += len(text)
        self._woken.set()

    def end(self, code: int, reason: str) -> None:
        """Send what waits, then close."""
        self._end = self._end or (code, reason)
        self._woken.set()

    async def serve(self, receive: Receive, send: Send) -> None:
        """Until the console leaves, is dropped, or is to end."""
        writing = asyncio.create_task(self._write(send))
        reading = asyncio.create_task(self._read(receive))
        slow = asyncio.create_task(self._over.wait())
        tasks = (writing, reading, slow)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if reading.done() and not reading.cancelled() and reading.exception() is None and reading.result() is None:
            return  # it has left
        code, reason = self._end or (NONSENSE, "not a message that this server knows")
        if self.dropped:
            code, reason = TOO_SLOW, f"read too slowly; resume after {self.done}"
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(_FAREWELL_S):
                if self.dropped:
                    await send({"type": "websocket.send", "text": text_of(Dropped(resume_after=self.done))})
                await send({"type": "websocket.close", "code": code, "reason": reason})

    async def _write(self, send: Send) -> None:
        while True:
            while self._waiting:
                text, seq = self._waiting.popleft()
                self._chars -= len(text)
                await send({"type": "websocket.send", "text": text})
                self.done = max(self.done, seq)
            if self._end is not None:
                return
            self._woken.clear()
            await self._woken.wait()

    async def _read(self, receive: Receive) -> bool | None:
        """None: it has left; False: it says what nobody understands."""
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return None
            try:
                watch = decode_watch(message.get("text") or "")
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                return False
            self.off = watch.off or self._muted
            chosen = Selection(
                kinds=frozenset(watch.kinds), brokers=frozenset(watch.brokers), topics=frozenset(watch.topics)
            )
            self.wanted = None if chosen == Selection() else chosen
