"""Answers of many connections, sent one right after the other.

A send that finds the peer's thread asleep wakes it, and that costs more than the answer: half of a look-up's time, on a
virtual machine more. So what a turn of the loop has answered goes out together, where most peers are awake by then.
"""

import asyncio
from typing import Final

_MOST: Final = 64  # answers that wait for each other: 16 sent 5 % fewer in all, 256 2 % fewer and each later


class Outbox:
    """Of one server. Whoever writes to a transport by another way, or closes it, calls `flush` first."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[tuple[asyncio.Transport, bytes]] = []

    def put(self, transport: asyncio.Transport, answer: bytes) -> None:
        """It is sent in this turn of the loop."""
        waiting = self._waiting
        waiting.append((transport, answer))
        if len(waiting) == 1:
            asyncio.get_running_loop().call_soon(self.flush)
        elif len(waiting) >= _MOST:
            self.flush()

    def flush(self) -> None:
        """Send what waits."""
        waiting = self._waiting
        if waiting:
            self._waiting = []  # a write may tell the connection to pause, and that may close others
            for transport, answer in waiting:
                if not transport.is_closing():
                    transport.write(answer)
