"""One open console: a bounded queue of messages and the WebSocket that they go to."""

import asyncio
import contextlib
from collections import deque
from typing import Final

import msgspec

from routebook.journal.read.select import Selection
from routebook.server.http.live.messages import Dropped, decode_watch, encode_message
from routebook.server.http.transport.asgi import Receive, Send

BAD_MESSAGE: Final = 4400
LOGIN_REQUIRED: Final = 4401
NOT_ALLOWED: Final = 4403
TOO_SLOW: Final = 4408
TOO_MANY: Final = 4429
STOPPING: Final = 1012

_MAX_QUEUED: Final = 64
_MAX_QUEUED_CHARS: Final = 4 << 20
_CLOSE_TIMEOUT_S: Final = 1.0


class Tab:
    """`push` never blocks. `wanted` None selects the default events, `off` none; a `muted` tab never gets events."""

    def __init__(self, *, muted: bool = False) -> None:
        self._muted = muted
        self.wanted: Selection | None = None
        self.off = muted
        self.done = 0  # sequence number up to which everything was sent
        self._too_slow = asyncio.Event()  # the console reads too slowly
        self._queue: deque[tuple[str, int]] = deque()
        self._chars = 0
        self._wake_up = asyncio.Event()
        self._end: tuple[int, str] | None = None

    @property
    def dropped(self) -> bool:
        return self._too_slow.is_set()

    def push(self, text: str, *, seq: int) -> None:
        """Queue a message that completes everything up to `seq`; drops the console if its queue is full."""
        if self.dropped or self._end is not None:
            return
        if self._queue and (len(self._queue) >= _MAX_QUEUED or self._chars + len(text) > _MAX_QUEUED_CHARS):
            self._too_slow.set()
            self._queue.clear()
        else:
            self._queue.append((text, seq))
            self._chars += len(text)
        self._wake_up.set()

    def end(self, code: int, reason: str) -> None:
        """Send the queued messages, then close."""
        self._end = self._end or (code, reason)
        self._wake_up.set()

    async def serve(self, receive: Receive, send: Send) -> None:
        """Run until the console disconnects, is dropped, or `end` was called."""
        writing = asyncio.create_task(self._write(send))
        reading = asyncio.create_task(self._read(receive))
        slow = asyncio.create_task(self._too_slow.wait())
        tasks = (writing, reading, slow)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if reading.done() and not reading.cancelled() and reading.exception() is None and reading.result() is None:
            return  # disconnected
        code, reason = self._end or (BAD_MESSAGE, "unknown message")
        if self.dropped:
            code, reason = TOO_SLOW, f"read too slowly; resume after {self.done}"
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                if self.dropped:
                    await send({"type": "websocket.send", "text": encode_message(Dropped(resume_after=self.done))})
                await send({"type": "websocket.close", "code": code, "reason": reason})

    async def _write(self, send: Send) -> None:
        while True:
            while self._queue:
                text, seq = self._queue.popleft()
                self._chars -= len(text)
                await send({"type": "websocket.send", "text": text})
                self.done = max(self.done, seq)
            if self._end is not None:
                return
            self._wake_up.clear()
            await self._wake_up.wait()

    async def _read(self, receive: Receive) -> bool | None:
        """None: disconnected; False: unknown message."""
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return None
            try:
                watch = decode_watch(message.get("text") or "")
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                return False
            self.off = watch.off or self._muted
            selection = Selection(
                kinds=frozenset(watch.kinds), brokers=frozenset(watch.brokers), topics=frozenset(watch.topics)
            )
            self.wanted = None if selection == Selection() else selection
