"""Closes connections on which nothing moved for too long, with one timer for all of them."""

import asyncio
from collections.abc import Callable
from typing import Final

from routebook.events import DownReason
from routebook.server.connection import Connection

_LEAST_GAP_S: Final = 0.25  # between two looks at all connections
_LINGER_S: Final = 10.0  # for a connection that is closing, until what is left unread is dropped


class IdleSweep:
    """Java: IdleStateHandler, no read and no write for so long.

    Stamps only grow, so after a look at all connections none can fall due before the oldest stamp plus the limit:
    that is when to look again.
    """

    def __init__(
        self, connections: dict[int, Connection], *, limit_s: float, idle: Callable[[Connection], None]
    ) -> None:
        self._connections = connections
        self._limit_s = limit_s or float("inf")  # Java: 0 never closes
        self._idle = idle
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._look()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        next_look = now + min(self._limit_s, _LINGER_S)
        for connection in list(self._connections.values()):
            unsent = connection.write_buffer_size
            if unsent != connection.unsent:  # the peer reads, if slowly
                connection.unsent = unsent
                connection.last_active = now
            due = connection.last_active + (_LINGER_S if connection.ended else self._limit_s)
            if due <= now:
                self._idle(connection)
                connection.close(DownReason.IDLE)
            else:
                next_look = min(next_look, due)
        self._timer = loop.call_at(max(next_look, now + _LEAST_GAP_S), self._look)
