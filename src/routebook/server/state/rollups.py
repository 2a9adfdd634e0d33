"""Rollups: records the counted heartbeats and look-ups of each minute as events."""

import asyncio
from collections.abc import Callable
from typing import Final

from routebook.events import HeartbeatMinute, LookupMinute
from routebook.handlers.meter import Meter
from routebook.server.state.recorder import Recorder

_MINUTE_MS: Final = 60_000
_BATCH_ROWS: Final = 100  # requests are served between two batches


class Rollups:
    """Runs from `start` until `stop`, which records the rest."""

    def __init__(self, meter: Meter, recorder: Recorder, *, wall_ms: Callable[[], int]) -> None:
        self._meter = meter
        self._recorder = recorder
        self._wall_ms = wall_ms
        self._minute_ms = 0
        self._timer: asyncio.TimerHandle | None = None
        self._rows: list[HeartbeatMinute | LookupMinute] = []

    def start(self) -> None:
        now_ms = self._wall_ms()
        self._minute_ms = now_ms - now_ms % _MINUTE_MS
        left_s = (self._minute_ms + _MINUTE_MS - now_ms) / 1000
        self._timer = asyncio.get_running_loop().call_later(left_s, self._end_minute)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._rows += self._meter.take(self._minute_ms)
        while self._rows:
            self._record_batch()

    def _end_minute(self) -> None:
        minute_ms = self._minute_ms
        self.start()  # first, so that a failure below does not end the rollups
        if not self._rows:
            asyncio.get_running_loop().call_soon(self._continue)
        self._rows += self._meter.take(minute_ms)

    def _continue(self) -> None:
        if self._timer is not None:
            self._record_batch()
            if self._rows:
                asyncio.get_running_loop().call_soon(self._continue)

    def _record_batch(self) -> None:
        rows, self._rows = self._rows[:_BATCH_ROWS], self._rows[_BATCH_ROWS:]
        self._recorder.record(rows, at_ms=self._wall_ms())
