"""Once a minute, on the minute: heartbeats and look-ups that were counted become events."""

import asyncio
from collections.abc import Callable
from typing import Final

from routebook.events import HeartbeatMinute, LookupMinute
from routebook.handlers.meter import Meter
from routebook.server.observe.event_log import EventLog
from routebook.server.state.recorder import Recorder

_MINUTE_MS: Final = 60_000
_AT_A_TIME: Final = 100  # rows between which requests get their turn


class Rollups:
    """Begins with `start`; `stop` records what is left."""

    def __init__(self, meter: Meter, recorder: Recorder, *, event_log: EventLog, wall_ms: Callable[[], int]) -> None:
        self._meter = meter
        self._recorder = recorder
        self._event_log = event_log
        self._wall_ms = wall_ms
        self._minute_ms = 0
        self._timer: asyncio.TimerHandle | None = None
        self._rows: list[HeartbeatMinute | LookupMinute] = []

    def start(self) -> None:
        now_ms = self._wall_ms()
        self._minute_ms = now_ms - now_ms % _MINUTE_MS
        left_s = (self._minute_ms + _MINUTE_MS - now_ms) / 1000
        self._timer = asyncio.get_running_loop().call_later(left_s, self._turn)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._rows += self._meter.take(self._minute_ms)
        while self._rows:
            self._record_some()

    def _turn(self) -> None:
        try:
            if not self._rows:
                asyncio.get_running_loop().call_soon(self._carry_on)
            self._rows += self._meter.take(self._minute_ms)
        except Exception as error:  # noqa: BLE001  around one round: the next may do better
            self._event_log.task_failed("minute", error)
        self.start()

    def _carry_on(self) -> None:
        if self._timer is not None:
            self._record_some()
            if self._rows:
                asyncio.get_running_loop().call_soon(self._carry_on)

    def _record_some(self) -> None:
        rows, self._rows = self._rows[:_AT_A_TIME], self._rows[_AT_A_TIME:]
        self._recorder.record(rows, at_ms=self._wall_ms())
