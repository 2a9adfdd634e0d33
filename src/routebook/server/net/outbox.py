"""Outbox: sends the answers of many connections together at the end of a turn of the event loop.

A send wakes the peer's thread if it is asleep, and that costs more than the answer: half the time of a look-up, more on
a virtual machine. By the end of the turn most peers are awake already.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

_MAX_ANSWERS: Final = 64  # throughput with 16: 5 % less; with 256: 2 % less, and a higher latency
_LONG_BYTES: Final = 16 * 1024  # from this size on, writing pieces is cheaper than joining them


class Outbox:
    """One per server. Call `flush` before writing to a transport directly and before closing it."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[tuple[asyncio.Transport, bytes]] = []

    def put(self, transport: asyncio.Transport, pieces: Sequence[bytes]) -> None:
        """Send an answer in this turn of the loop. A long one is written at once, without a copy."""
        if len(pieces[-1]) >= _LONG_BYTES:
            self.flush()
            transport.writelines(pieces)
            return
        waiting = self._waiting
        waiting.append((transport, b"".join(pieces)))
        if len(waiting) == 1:
            asyncio.get_running_loop().call_soon(self.flush)
        elif len(waiting) >= _MAX_ANSWERS:
            self.flush()

    def flush(self) -> None:
        """Send all answers."""
        waiting = self._waiting
        if waiting:
            self._waiting = []  # a write may pause a connection, and that may close others
            for transport, answer in waiting:
                if not transport.is_closing():
                    transport.write(answer)
