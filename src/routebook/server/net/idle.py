"""The idle sweep: closes connections without traffic and those that send too slowly, with one timer for all."""

import asyncio
from collections.abc import Callable
from typing import Final

from routebook.events import DownReason
from routebook.server.net.connection import Connection
from routebook.server.net.connection_state import State

_MIN_INTERVAL_S: Final = 0.25
_LINGER_S: Final = 10.0  # for a connection that is closing; after that, unread answers are dropped


class IdleSweep:
    """Java: IdleStateHandler, no read and no write for `limit_s`.

    `last_active` only grows, so no connection can become idle before the oldest value plus the limit: the next sweep is
    due then.
    """

    def __init__(
        self,
        connections: dict[int, Connection],
        *,
        limit_s: float,
        on_idle: Callable[[Connection], None],
        first_s: float = 0,
        frame_s: float = 0,
    ) -> None:
        """`first_s` limits the time until the first request, `frame_s` the time that a frame takes; 0: no limit."""
        self._connections = connections
        self._limit_s = limit_s or float("inf")  # Java: 0 never closes
        self._first_s = first_s or float("inf")
        self._frame_s = frame_s or float("inf")
        self._on_idle = on_idle
        self._timer: asyncio.TimerHandle | None = None
        # by connection, as of the last sweep
        self._unsent: dict[int, int] = {}  # size of the write buffer
        self._partial_frames: dict[int, tuple[int, float]] = {}  # which frame is incomplete, and since when

    def start(self) -> None:
        self._sweep()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        next_sweep = now + min(self._limit_s, _LINGER_S, self._frame_s / 4)
        unsent_before, self._unsent = self._unsent, {}
        frames_before, self._partial_frames = self._partial_frames, {}
        for number, connection in list(self._connections.items()):
            unsent = connection.flow.write_buffer_size
            if unsent:
                self._unsent[number] = unsent
            if unsent != unsent_before.get(number, 0):  # the peer reads, if slowly
                connection.last_active = now
            due = connection.last_active + (_LINGER_S if connection.state is State.CLOSING else self._limit_s)
            if due <= now:
                self._on_idle(connection)
                connection.close(DownReason.IDLE)
                continue
            slow = self._check_speed(number, connection, now, frames_before)
            if slow > now:
                next_sweep = min(next_sweep, due, slow)
        self._timer = loop.call_at(max(next_sweep, now + _MIN_INTERVAL_S), self._sweep)

    def _check_speed(
        self, number: int, connection: Connection, now: float, frames_before: dict[int, tuple[int, float]]
    ) -> float:
        """Close a connection whose first request or frame takes too long. Return when that is due."""
        due = float("inf")
        if connection.state is State.CLOSING:
            return due
        if not connection.requester.has_sent_request:
            due = connection.opened_at + self._first_s
            if due <= now:
                connection.exceed("first_request_seconds", f"no request within {self._first_s:g} s")
                return due
        frame = connection.partial_frame
        if frame is not None:
            before = frames_before.get(number)
            mark = before if before is not None and before[0] == frame else (frame, now)
            if mark[1] + self._frame_s <= now:
                connection.exceed("frame_seconds", f"a frame was incomplete after {self._frame_s:g} s")
                return mark[1] + self._frame_s
            self._partial_frames[number] = mark
        return due
