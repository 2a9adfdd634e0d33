"""Closes connections on which nothing moved for too long, with one timer for all of them."""

import asyncio
from collections.abc import Callable
from typing import Final

from routebook.events import DownReason
from routebook.server.net.connection import Connection

_LEAST_GAP_S: Final = 0.25  # between two looks at all connections
_LINGER_S: Final = 10.0  # for a connection that is closing, until what is left unread is dropped


class IdleSweep:
    """Java: IdleStateHandler, no read and no write for so long.

    Stamps only grow, so after a look at all connections none can fall due before the oldest stamp plus the limit:
    that is when to look again.
    """

    def __init__(
        self,
        connections: dict[int, Connection],
        *,
        limit_s: float,
        idle: Callable[[Connection], None],
        first_s: float = 0,
        frame_s: float = 0,
    ) -> None:
        """`first_s`: until the first request; `frame_s`: from the first to the last byte of a frame; 0: for ever."""
        self._connections = connections
        self._limit_s = limit_s or float("inf")  # Java: 0 never closes
        self._first_s = first_s or float("inf")
        self._frame_s = frame_s or float("inf")
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
        next_look = now + min(self._limit_s, _LINGER_S, self._frame_s / 4)
        for connection in list(self._connections.values()):
            unsent = connection.write_buffer_size
            if unsent != connection.unsent:  # the peer reads, if slowly
                connection.unsent = unsent
                connection.last_active = now
            due = connection.last_active + (_LINGER_S if connection.ended else self._limit_s)
            if due <= now:
                self._idle(connection)
                connection.close(DownReason.IDLE)
                continue
            slow = self._slow(connection, now)
            if slow > now:
                next_look = min(next_look, due, slow)
        self._timer = loop.call_at(max(next_look, now + _LEAST_GAP_S), self._look)

    def _slow(self, connection: Connection, now: float) -> float:
        """When it will have taken too long over its first request or over a frame; closed if it has."""
        if connection.ended:
            return float("inf")
        due = float("inf")
        if not connection.asked:
            due = connection.begun + self._first_s
            if due <= now:
                connection.exceed("first_request_seconds", f"no request within {self._first_s:g} s")
                return due
        frame, mark = connection.frame_in_parts, connection.frame_mark
        if frame is None:
            connection.frame_mark = None
        elif mark is None or mark[0] != frame:
            connection.frame_mark = (frame, now)
        elif mark[1] + self._frame_s <= now:
            connection.exceed("frame_seconds", f"a frame was not whole after {self._frame_s:g} s")
            return mark[1] + self._frame_s
        return due
